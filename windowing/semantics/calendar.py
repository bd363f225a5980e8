"""Which span of a calendar an instant lies in, and when one begins, by definition.

A span begins at the first instant at which the zone's clocks show its local time, or a later one.
An instant lies in the last span that has begun by then.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from math import floor
from typing import Final
from zoneinfo import ZoneInfo

from windowing.model.calendar import Calendar

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_US: Final = timedelta(microseconds=1)
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
# Python's dates have the years 1 to 9999. The calendar repeats itself after 400 years, and so do
# zones: before the year 1800, and after 2100.
_CYCLE: Final = datetime(2400, 1, 1, tzinfo=UTC) - datetime(2000, 1, 1, tzinfo=UTC)
_CYCLE_MONTHS: Final = 400 * 12
_SINCE_1400, _UNTIL_2100 = Fraction(1970 - 1400, 400), Fraction(2100 - 1970, 400)


def number_of(calendar: Calendar, instant_us: int) -> int:
    """Return the last span that has begun by an instant."""
    number = instant_us // calendar.mean_us
    while begin(calendar, number) > instant_us:
        number -= 1
    while begin(calendar, number + 1) <= instant_us:
        number += 1
    return number


@lru_cache(100_000)
def begin(calendar: Calendar, number: int) -> int:
    """Return the instant at which a span begins, in microseconds."""
    first = number * calendar.count
    if calendar.unit in _MONTHS:
        months = first * _MONTHS[calendar.unit]
        cycles = _cycles(Fraction(months, _CYCLE_MONTHS))
        near = months - cycles * _CYCLE_MONTHS
        local = datetime(1970 + near // 12, near % 12 + 1, 1)  # noqa: DTZ001 - without a zone
    else:
        days = first if calendar.unit == "day" else 4 + 7 * first
        cycles = _cycles(Fraction(days, _CYCLE.days))
        local = datetime(1970, 1, 1) + timedelta(days - cycles * _CYCLE.days)  # noqa: DTZ001
    local += timedelta(microseconds=calendar.origin_us)
    return _first_shown(local, calendar.zone.info) + cycles * (_CYCLE // _US)


def _cycles(since_1970: Fraction) -> int:
    """Return by how many cycles a date is before the year 1400, or after about 2500."""
    early, late = floor(since_1970 + _SINCE_1400), floor(since_1970 - _UNTIL_2100)
    return min(early, 0) + max(late, 0)


def _first_shown(local: datetime, zone: ZoneInfo) -> int:
    """Return the first instant at which clocks show a time, or a later one."""
    first, second = (_instant(local, zone, fold) for fold in (0, 1))
    if second >= first:
        return first  # shown once or twice
    # Skipped, by a change between the two: by the old offset it were later, by the new one earlier.
    before, after = second, first
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (before, middle) if _shown(middle, zone) >= local else (middle, after)
    return after


def _instant(local: datetime, zone: ZoneInfo, fold: int) -> int:
    return (local.replace(tzinfo=zone, fold=fold) - _EPOCH) // _US


def _shown(instant_us: int, zone: ZoneInfo) -> datetime:
    return (_EPOCH + instant_us * _US).astimezone(zone).replace(tzinfo=None, fold=0)
