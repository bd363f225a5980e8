"""Defects in decoding values into records."""

from __future__ import annotations

from typing import Any

from chaos.planted_bugs.conditions import iso_times
from chaos.planted_bugs.planted import planted
from windowing.engine.reading.steps import iso_us


# ISO times whose fraction of a second is read as a number of microseconds. How one gets it: the
# digits after the point are parsed as an integer.
@planted(
    "iso_fraction_is_a_number",
    "deterministic, dead letters, conservation",
    at=(
        "windowing.engine.reading.steps:iso_us",
        "windowing.engine.reading.decoders.json_objects:iso_us",
    ),
    shows_in=iso_times,
)
def as_a_number(value: Any) -> int:
    if isinstance(value, str) and "." in value:
        seconds, _, rest = value.partition(".")
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        value = f"{seconds}.{digits.rjust(6, '0')}{rest[len(digits) :]}"
    return iso_us(value)


# ISO times whose UTC offset is parsed but ignored. How one gets it: a parser that drops
# everything after the seconds.
@planted(
    "iso_zone_is_passed_over",
    "deterministic, dead letters, conservation",
    at=(
        "windowing.engine.reading.steps:iso_us",
        "windowing.engine.reading.decoders.json_objects:iso_us",
    ),
    shows_in=iso_times,
)
def without_zone(value: Any) -> int:
    iso_us(value)  # an invalid time stays invalid
    return iso_us(value[:-6] if value[-6] in "+-" else value)
