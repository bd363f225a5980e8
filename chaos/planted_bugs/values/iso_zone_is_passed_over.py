"""ISO times whose distance from UTC is read, and forgotten.

Defect: the clock of the zone is taken for that of UTC.
How one gets it: a reader of times that drops what stands behind the seconds.
Expected: records of other zones lie hours off.
"""

from __future__ import annotations

from typing import Any

from chaos.planted_bugs.guilt import guilty
from chaos.planted_bugs.lairs import iso_times
from chaos.planted_bugs.planted import reading
from windowing.engine.input.values import iso_us


def without_zone(value: Any) -> int:
    """The time, as if it were UTC."""
    iso_us(value)  # what is no time stays none
    return iso_us(value[:-6] if value[-6] in "+-" else value)


GUILTY = guilty(
    reading("iso_zone_is_passed_over", iso_us=without_zone),
    "deterministic",
    "dead letters",
    "conservation",
    lair=iso_times,
)
