"""Zones of the calendar that expressions name."""

from __future__ import annotations

import zoneinfo

from windowing.model.errors import meant, shown


def check_zone(name: str) -> str:
    """Return a zone's name.

    Raises:
        ValueError: there is no such zone.
    """
    try:
        zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        known = zoneinfo.available_timezones()
        hint = meant(name, known) or ": write one such as 'Europe/Berlin' or 'UTC'"
        msg = f"{shown(name)} is not a zone of the tz database{hint}"
        raise ValueError(msg) from None
    return name
