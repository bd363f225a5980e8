"""ISO times whose distance from UTC is read, and forgotten.

Defect: the clock of the zone is taken for that of UTC.
How one gets it: a reader of times that drops what stands behind the seconds.
Expected: records of other zones lie hours off.
"""

from __future__ import annotations

from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import iso_times
from chaos.planted_bugs.planted import reading
from windowing.engine.input.values import iso_us


def without_zone(value: Any) -> int:
    """The time, as if it were UTC."""
    iso_us(value)  # an invalid time stays invalid
    return iso_us(value[:-6] if value[-6] in "+-" else value)


BUG = planted_bug(
    reading("iso_zone_is_passed_over", iso_us=without_zone),
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=iso_times,
)
