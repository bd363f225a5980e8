"""Calendars by column: which span of local time an instant lies in, and when spans begin.

An instant's span follows from the latest local time that clocks had shown by then. That never
falls, so neither do numbers, also where clocks are turned back over midnight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import numpy as np

from windowing.engine.wids import ENDED, NOTHING_YET, Ints
from windowing.engine.zones import Transitions, transitions
from windowing.model.calendar import DAY_US, Calendar

# The calendar repeats itself after 400 years, a whole number of weeks. So do all zones, before the
# years 1400 to 1800 with their mean local time, and after the years 2100 to 2500 with their rules.
_CYCLE: Final = {"day": 146_097, "month": 4_800}
_CYCLE_US: Final = _CYCLE["day"] * DAY_US
_EARLY: Final = {"day": -208_188, "month": -6_840}
_LATE: Final = {"day": 47_482, "month": 1_560}
_EARLY_US, _LATE_US = _EARLY["day"] * DAY_US, _LATE["day"] * DAY_US
# Monday 1970-01-05, the first day of the first week.
_MONDAY: Final = 4
# More than offset and time of day move an instant.
_MARGIN_US: Final = 4 * DAY_US
_LEAST_US, _MOST_US = NOTHING_YET + _MARGIN_US, ENDED - _MARGIN_US


@dataclass(frozen=True)
class Spans:
    """The spans of a calendar, by number."""

    calendar: Calendar

    @property
    def phase(self) -> int:
        """Return the day or month since 1970 that span 0 begins with."""
        return _MONDAY if self.calendar.unit == "week" else 0

    def numbers(self, instants: Ints) -> Ints:
        """Return the last span that has begun by each instant."""
        steps = self._steps(instants)
        return (steps - self.phase) // self.calendar.steps if self._grouped else steps

    def begins(self, numbers: Ints) -> Ints:
        """Return the instant at which each span begins; beyond 64 bits `ENDED`, or the smallest."""
        least, most = self._known
        known = np.clip(numbers, least, most)
        found = self._begins(known * self.calendar.steps + self.phase if self._grouped else known)
        if (known != numbers).any():
            found = np.where(numbers > most, ENDED, np.where(numbers < least, NOTHING_YET, found))
        return found

    @property
    def grain_us(self) -> int:
        """Return the largest length of which all spans since 1970 begin at a multiple."""
        since = self._zone.starts >= 0
        offsets = self._zone.offsets[np.concatenate([[False], since])]
        first = self._zone.offset_at(np.array([0]))
        lengths = [DAY_US, self.calendar.origin_us, *self._zone.starts[since], *offsets, *first]
        return math.gcd(*map(int, lengths))

    @property
    def _grouped(self) -> bool:
        return self.calendar.steps > 1 or self.phase > 0

    @cached_property
    def _known(self) -> tuple[int, int]:
        """The first and the last span that begin within 64 bits, but for those at the margin."""
        least, most = self.numbers(np.array([_LEAST_US, _MOST_US])).tolist()
        return least + 1, most

    @cached_property
    def _zone(self) -> Transitions:
        return transitions(self.calendar.zone)

    @cached_property
    def _shown(self) -> Ints:
        """The latest local time that clocks showed before each offset."""
        ends = self._zone.ends
        return np.concatenate([np.array([NOTHING_YET]), ends - 1])

    def _steps(self, instants: Ints) -> Ints:
        """Return the last day or month that has begun by each instant."""
        if not len(instants):
            return instants
        low, high = int(instants.min()), int(instants.max())
        if low < _LEAST_US or high > _MOST_US:
            return self._steps(np.clip(instants, _LEAST_US, _MOST_US))
        if low < _EARLY_US or high >= _LATE_US + _CYCLE_US:
            cycles = _cycles(instants, _EARLY_US, _LATE_US, _CYCLE_US)
            folded = self._steps(instants - cycles * _CYCLE_US)
            return folded + cycles * _CYCLE[self.calendar.step]
        first, last = np.searchsorted(self._zone.starts, [low, high], "right")
        if first == last:
            ahead, shown = self._zone.offsets[first], self._shown[first]
        else:
            changes = self._zone.starts[first:last]
            place = np.searchsorted(changes, instants, "right") + first
            ahead, shown = self._zone.offsets[place], self._shown[place]
        local = np.maximum(instants + ahead, shown)
        if self.calendar.origin_us:
            local -= self.calendar.origin_us
        days: Ints = local // DAY_US
        return days if self.calendar.step == "day" else _months(days)

    def _begins(self, steps: Ints) -> Ints:
        step = self.calendar.step
        cycles = _cycles(steps, _EARLY[step], _LATE[step], _CYCLE[step])
        days = steps - cycles * _CYCLE[step]
        if step == "month":
            days = _days(days)
        found = self._zone.instant_of(days * DAY_US + self.calendar.origin_us)
        return found + cycles * _CYCLE_US


@cache
def spans_of(calendar: Calendar) -> Spans:
    """Return the spans of a calendar."""
    return Spans(calendar)


def _cycles(values: Ints, early: int, late: int, cycle: int) -> Ints:
    """Return how many cycles bring values into the years 1400 to 2500."""
    after = np.where(values >= late + cycle, (values - late) // cycle, 0)
    return np.where(values < early, (values - early) // cycle, after)


def _months(days: Ints) -> Ints:
    months: Ints = days.astype("M8[D]").astype("M8[M]").astype(np.int64)
    return months


def _days(months: Ints) -> Ints:
    days: Ints = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
    return days
