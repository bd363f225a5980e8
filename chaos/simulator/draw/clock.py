"""The scale of a drawn pipeline: how long a tick is, and which times are legal."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

UNIT_US = {"us": 1, "ms": 1_000, "s": 1_000_000, "iso": 1}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Zones of ISO times, and their offsets from UTC in minutes.
_ZONES = (("", 0), ("Z", 0), ("+00:00", 0), ("-00:00", 0), ("+05:45", 345), ("-03:30", -210))


@dataclass(frozen=True)
class Clock:
    """The time scale of a pipeline, in which all lengths are whole ticks.

    Attributes:
        tick_us: smallest step of a time; a multiple of the unit.
    """

    unit: str
    tick_us: int

    def us(self, ticks: int) -> str:
        """Return a number of ticks as a duration."""
        return f"{ticks * self.tick_us} us"


def draw_clock(rng: random.Random) -> Clock:
    """Draw a scale."""
    unit = rng.choice(["us", "us", "ms", "s", "iso"])
    return Clock(unit, UNIT_US[unit] * rng.choice([1, 1, 1_000, 1_000_000]))


def draw_event_time(
    rng: random.Random, clock: Clock, field: str = "ts", *, bounded: bool = False
) -> dict[str, Any]:
    """Draw the section `event_time`.

    A `bounded` one allows a short range of times only: a time in a thousand years would need every
    landmark window until then.
    """
    rule: dict[str, Any] = {"field": field, "unit": clock.unit}
    if bounded or rng.random() < 0.4:
        rule |= {"min": spell(-8 * clock.tick_us, "iso"), "max": spell(50 * clock.tick_us, "iso")}
    if rng.random() < 0.4:
        rule["max_ahead"] = clock.us(rng.choice([0, 3, 3]))
    return rule


def spell(ts_us: int, unit: str) -> int | str:
    """Return a time in the syntax of pipeline files."""
    if unit == "iso":
        return (_EPOCH + timedelta(microseconds=ts_us)).isoformat().replace("+00:00", "Z")
    return ts_us // UNIT_US[unit]


def draw_spelling(rng: random.Random, ts_us: int, unit: str) -> int | str:
    """Draw one of the equivalent ways to write an instant in a value."""
    if unit != "iso" or rng.random() < 0.3:
        return spell(ts_us, unit)
    zone, minutes = rng.choice(_ZONES)
    local = _EPOCH + timedelta(microseconds=ts_us, minutes=minutes)
    fraction = f"{local.microsecond:06d}"
    shortest = len(fraction.rstrip("0"))
    digits = rng.randint(shortest, 6)
    seconds = local.replace(microsecond=0, tzinfo=None).isoformat()
    return f"{seconds}.{fraction[:digits]}{zone}" if digits else f"{seconds}{zone}"
