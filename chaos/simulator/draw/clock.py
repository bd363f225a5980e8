"""The scale of a drawn pipeline: how long a tick is, and which times are legal."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from windowing.model.times import POWERS, Spelling, TextTimes

UNIT_US = {"us": 1, "ms": 1_000, "s": 1_000_000, "iso": 1}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Its clocks were put back 40 ticks after 1970, so that a local time that comes twice is drawn.
_HOBART: Final = {"text": "%d.%m.%Y %H:%M:%S.%f", "zone": "Australia/Hobart"}
_HOBART_TICK_US: Final = 141_840_000_000
LOCAL_TICK_US: Final = 129_600_000_000
"""A day and a half, so that lengths of time and days of local time do not coincide."""
# Ticks of it until all zones of windows have changed their clocks (`draw.windows.ZONES`).
_LOCAL_TICKS: Final = 90
# Zones of ISO times, and their offsets from UTC in minutes.
_ZONES = (("", 0), ("Z", 0), ("+00:00", 0), ("-00:00", 0), ("+05:45", 345), ("-03:30", -210))


@dataclass(frozen=True)
class Clock:
    """The time scale of a pipeline, in which all lengths are whole ticks.

    Attributes:
        unit: as a file has it.
        tick_us: smallest step of a time; a multiple of the unit.
    """

    unit: Any
    tick_us: int

    def us(self, ticks: int) -> str:
        """Return a number of ticks as a duration."""
        return f"{ticks * self.tick_us} us"


def draw_clock(rng: random.Random, *, local: bool = False) -> Clock:
    """Draw a scale; with windows of `local` time, one by which a log has some days."""
    unit = rng.choice(["us", "us", "ms", "s", "iso"])
    if local:
        return Clock(unit, LOCAL_TICK_US)
    tick = rng.choice([1, 1, 1_000, 1_000_000])
    if unit == "iso" and tick == 1_000_000:
        return Clock(_HOBART, _HOBART_TICK_US)
    return Clock(unit, UNIT_US[unit] * tick)


def draw_event_time(
    rng: random.Random, clock: Clock, field: str = "ts", *, bounded: bool = False
) -> dict[str, Any]:
    """Draw the section `event_time`.

    A `bounded` one allows a short range of times only: a time in a thousand years would need every
    landmark window until then.
    """
    rule: dict[str, Any] = {"field": field, "unit": clock.unit}
    if bounded or rng.random() < 0.4:
        last = _LOCAL_TICKS if clock.tick_us == LOCAL_TICK_US else 50
        rule |= {"min": spell(-8 * clock.tick_us, "iso"), "max": spell(last * clock.tick_us, "iso")}
    if rng.random() < 0.4:
        rule["max_ahead"] = clock.us(rng.choice([0, 3, 3]))
    return rule


def spell(ts_us: int, unit: str) -> int | str:
    """Return a time in the syntax of pipeline files."""
    if unit == "iso":
        return (_EPOCH + timedelta(microseconds=ts_us)).isoformat().replace("+00:00", "Z")
    return ts_us // UNIT_US[unit]


def draw_spelling(rng: random.Random, ts_us: int, spelling: Spelling) -> int | float | str:
    """Draw one of the equivalent ways to write an instant in a value."""
    unit = spelling.unit
    if isinstance(unit, TextTimes):
        local = (_EPOCH + timedelta(microseconds=ts_us)).astimezone(unit.zone.info)
        return local.strftime(unit.format)
    if unit == "ns":
        return ts_us * 1_000 + rng.choice([0, 0, 1, 999])
    if spelling.fraction:
        return ts_us / float(10 ** POWERS[unit])
    if unit != "iso" or rng.random() < 0.3:
        return spell(ts_us, unit)
    zone, minutes = rng.choice(_ZONES)
    local = _EPOCH + timedelta(microseconds=ts_us, minutes=minutes)
    fraction = f"{local.microsecond:06d}"
    shortest = len(fraction.rstrip("0"))
    digits = rng.randint(shortest, 6)
    text = local.replace(microsecond=0, tzinfo=None).isoformat()
    # Drawn apart, so that all else is as without them.
    own = random.Random(f"{ts_us} {digits} {zone}")
    text = text.replace("T", own.choice("TTTt "))
    zone = own.choice([zone, zone, zone.replace(":", ""), zone.lower(), zone.removesuffix(":00")])
    if not digits:
        return (text.removesuffix(":00") if own.random() < 0.2 else text) + zone
    more = own.choice(["", "", "000", "9", "999999"]) if digits == 6 else ""
    return f"{text}.{fraction[:digits]}{more}{zone}"
