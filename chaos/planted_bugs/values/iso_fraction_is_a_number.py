"""ISO times whose fraction of a second is read as a number of microseconds.

Defect: `.5` is five microseconds, not half a second.
How one gets it: the digits after the point are parsed as an integer.
Expected: times with fewer than six digits are too early.
"""

from __future__ import annotations

from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import iso_times
from chaos.planted_bugs.planted import reading
from windowing.engine.input.values import iso_us


def as_a_number(value: Any) -> int:
    """Return the time, with its fraction parsed as an integer of microseconds."""
    if isinstance(value, str) and "." in value:
        seconds, _, rest = value.partition(".")
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        value = f"{seconds}.{digits.rjust(6, '0')}{rest[len(digits) :]}"
    return iso_us(value)


BUG = planted_bug(
    reading("iso_fraction_is_a_number", iso_us=as_a_number),
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=iso_times,
)
