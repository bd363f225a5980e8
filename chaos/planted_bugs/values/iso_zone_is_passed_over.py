"""ISO times whose UTC offset is parsed but ignored.

Defect: local time is treated as UTC.
How one gets it: a parser that drops everything after the seconds.
Expected: times in other zones are hours off.
"""

from __future__ import annotations

from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import iso_times
from chaos.planted_bugs.planted import reading
from windowing.engine.input.values import iso_us


def without_zone(value: Any) -> int:
    """Return the time as if it were in UTC."""
    iso_us(value)  # an invalid time stays invalid
    return iso_us(value[:-6] if value[-6] in "+-" else value)


BUG = planted_bug(
    reading("iso_zone_is_passed_over", iso_us=without_zone),
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=iso_times,
)
