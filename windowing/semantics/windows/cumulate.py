"""Cumulating windows, by definition: each begins with its period.

With origin m, period R and slide S, where R = K·S, window w = p·K + k - 1 is the k-th of period p:

    extent(w) = [ m + pR,  m + pR + kS )        p = 0, 1, …    k = 1, …, K

With ZONE, period p is a day, week, month, quarter or year of local time [b, e):

    extent(w) = [ b,  min(b + kS, e) )          b + (k - 1)S < e

where K is how many steps the longest unit has by the calendar, and a day: clocks that are turned
back make no period longer. Numbers above the last k of a period are of no window.

Source: CUMULATE of Flink SQL's windowing table-valued functions; ids and lateness are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from windowing.model.calendar import Calendar
from windowing.model.windows.cumulate import Cumulate
from windowing.semantics.calendar import begin, number_of
from windowing.semantics.units import OutsideReason
from windowing.semantics.windows.by_value import ByValueDefinition

_DAY_US: Final = 24 * 60 * 60 * 1_000_000
_MOST_DAYS: Final = {"day": 1, "week": 7, "month": 31, "quarter": 31 + 30 + 31, "year": 366}


@dataclass(frozen=True)
class CumulateDefinition(ByValueDefinition):
    """Cumulating windows over an attribute."""

    def extent(self, wid: int) -> tuple[int, int]:
        """Return start and end, half-open, in the attribute's unit."""
        period, step = divmod(wid, self._numbers)
        start, end = self._period(period)
        return start, min(start + (step + 1) * self.query.window.slide, end)

    def wids(self, value: int) -> range:
        """Return the windows of a value's period that end after it."""
        period, slide = self._period_of(value), self.query.window.slide
        if period < 0:
            return range(0)
        start, end = self._period(period)
        last = (end - start - 1) // slide
        number = period * self._numbers
        return range(number + (value - start) // slide, number + last + 1)

    def next(self, wid: int) -> int:
        """Return the next window of the period or, behind the last, the first of a later one."""
        period, step = divmod(wid, self._numbers)
        start, end = self._period(period)
        if start + (step + 1) * self.query.window.slide < end:
            return wid + 1
        while True:
            period += 1
            start, end = self._period(period)
            # A day that clocks skip has no windows.
            if start < end:
                return period * self._numbers

    def outside(self, value: int) -> OutsideReason | None:
        """Return why a value lies in no window; None: it lies in some."""
        return "before_origin" if self._period_of(value) < 0 else None

    @property
    def _calendar(self) -> Calendar | None:
        return cast("Cumulate", self.query.window).calendar

    @property
    def _length(self) -> int:
        assert self.query.window.range_ is not None  # noqa: S101 - as parsed
        return self.query.window.range_

    @property
    def _numbers(self) -> int:
        """How many numbers a period has."""
        slide, calendar = self.query.window.slide, self._calendar
        if calendar is None:
            return self._length // slide
        return -(-_MOST_DAYS[calendar.unit] * _DAY_US // slide) + -(-_DAY_US // slide)

    def _period_of(self, value: int) -> int:
        if self._calendar is None:
            return (value - self.query.window.origin) // self._length
        return number_of(self._calendar, value)

    def _period(self, period: int) -> tuple[int, int]:
        """Return start and end of a period."""
        if self._calendar is None:
            start = self.query.window.origin + period * self._length
            return start, start + self._length
        return begin(self._calendar, period), begin(self._calendar, period + 1)
