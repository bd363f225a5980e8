"""Draw tables of zones that a file has: a run may go by other ones than those installed."""

from __future__ import annotations

import random
from typing import Final

from windowing.model.file.pipeline import parse_pipeline
from windowing.model.zones import Zone, installed_zone, utc

_TABLES: Final = (
    *("America/Havana", "America/Montevideo", "Africa/Khartoum", "America/Santiago"),
    *("Australia/Hobart", "Asia/Hong_Kong", "Asia/Kolkata", "America/Sao_Paulo"),
)
"""Zones whose tables others get."""


def with_tables(rng: random.Random, text: str) -> str:
    """Return a file that goes by another zone's table for each zone that it names."""
    named = [zone for zone in parse_pipeline(text).zones.values() if zone != utc()]
    kept = {zone.name: Zone(zone.name, installed_zone(rng.choice(_TABLES)).table) for zone in named}
    return parse_pipeline(text).keeping_zones(kept).text if kept else text
