"""Functions of timestamps by columns: whole-number arithmetic on microseconds, days and months."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from windowing.engine.reading.expressions.vectors import Bools
from windowing.engine.reading.expressions.whole import Ints
from windowing.engine.zones import transitions
from windowing.model.zones import Zone

Part: TypeAlias = Callable[[Ints], Ints]

SECOND_US: Final = 1_000_000
DAY_US: Final = 86_400 * SECOND_US
_SPANS_US: Final = {
    "second": SECOND_US,
    "minute": 60 * SECOND_US,
    "hour": 3600 * SECOND_US,
    "day": DAY_US,
}
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_MONDAY: Final = 3
"""1970-01-01 was a Thursday: how far it is from its week's beginning."""


def month_of(days: Ints) -> Ints:
    """Return the months since 1970-01 of days since 1970-01-01."""
    return days.view("M8[D]").astype("M8[M]").astype(np.int64)


def first_day(months: Ints) -> Ints:
    """Return the first days of months."""
    return months.view("M8[M]").astype("M8[D]").astype(np.int64)


def _truncated(unit: str) -> Part:
    """Return the function that takes a local time to the beginning of its unit."""
    if unit in _SPANS_US:
        span = _SPANS_US[unit]
        return lambda local: local // span * span
    if unit == "week":
        week, behind = 7 * DAY_US, _MONDAY * DAY_US
        return lambda local: (local + behind) // week * week - behind
    months = _MONTHS[unit]
    return lambda local: first_day(month_of(local // DAY_US) // months * months) * DAY_US


def _day_of_week(days: Ints) -> Ints:
    return (days + _MONDAY) % 7 + 1


def _day_of_year(days: Ints) -> Ints:
    return days - first_day(month_of(days) // 12 * 12) + 1


def _thursday(days: Ints) -> Ints:
    """Return the day that says which year a week belongs to."""
    return days - _day_of_week(days) + 4


def _year(days: Ints) -> Ints:
    return 1970 + month_of(days) // 12


_OF_DAYS: Final[dict[str, Part]] = {
    "day": lambda days: days - first_day(month_of(days)) + 1,
    "isodow": _day_of_week,
    "doy": _day_of_year,
    "week": lambda days: (_day_of_year(_thursday(days)) + 6) // 7,
    "month": lambda days: month_of(days) % 12 + 1,
    "quarter": lambda days: month_of(days) % 12 // 3 + 1,
    "isoyear": lambda days: _year(_thursday(days)),
    "year": _year,
}
_TIMES: Final = {"second": 60, "minute": 60, "hour": 24}
"""Units of a day's time, and how many there are of each in the next."""
_FIRST_US: Final = -719_162 * DAY_US
_END_US: Final = 2_932_897 * DAY_US
"""The years 1 to 9999."""


def out_of_years(local: Ints) -> Bools:
    """Return which times lie outside the years 1 to 9999."""
    return (local < _FIRST_US) | (local >= _END_US)


def truncation(unit: str, zone: Zone | None = None) -> Callable[[Ints], tuple[Ints, Bools]]:
    """Return the function that takes instants to the beginning of their unit, in a zone."""
    truncated = _truncated(unit)

    def truncate(instants: Ints) -> tuple[Ints, Bools]:
        local, wrong = _local(instants, zone)
        begin = truncated(local)
        if zone is None or unit in _TIMES:
            # The offset stays: each of two equal hours begins by itself.
            return instants - (local - begin), wrong
        return transitions(zone).instant_of(begin), wrong

    return truncate


def part(unit: str, zone: Zone | None = None) -> Callable[[Ints], tuple[Ints, Bools]]:
    """Return the function that takes instants to a part of their local time."""

    def extract(instants: Ints) -> tuple[Ints, Bools]:
        local, wrong = _local(instants, zone)
        if unit in _TIMES:
            return local // _SPANS_US[unit] % _TIMES[unit], wrong
        return _OF_DAYS[unit](local // DAY_US), wrong

    return extract


def _local(instants: Ints, zone: Zone | None) -> tuple[Ints, Bools]:
    """Return local times, and which of them the calendar does not have, or not in UTC; 0 there."""
    wrong = out_of_years(instants)
    local = np.where(wrong, 0, instants)
    if zone is None:
        return local, wrong
    local = local + transitions(zone).offset_at(local)
    wrong = wrong | out_of_years(local)
    return np.where(wrong, 0, local), wrong
