"""Windows of local time, by definition.

Where span n of a calendar is [begin(n), begin(n + 1)), window w = 0, 1, 2, … is

    extent(w) = [ max(begin(0), so many days or months before begin(w + 1)),  begin(w + 1) )

so windows end where spans do. Which day is so many days before another one says the calendar alone,
and when it begins, the zone. A length that is shorter than a span leaves gaps.

Source: Li et al., SIGMOD 2005, section 3, for windows one slide apart; local time is ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from windowing.model.calendar import Calendar
from windowing.model.windows.calendar import CalendarWindow
from windowing.semantics.calendar import begin, number_of
from windowing.semantics.windows.active import ActiveDefinition


@dataclass(frozen=True)
class CalendarDefinition(ActiveDefinition):
    """Windows that end with the spans of a calendar."""

    def whole(self, wid: int) -> tuple[int, int]:
        """Return start and end, half-open, in microseconds."""
        ends_with = _first_step(self._slides, wid + 1)
        starts_with = max(_first_step(self._slides, 0), ends_with - self._window.length)
        steps = replace(self._slides, unit=self._slides.step, count=1)
        return begin(steps, starts_with), begin(self._slides, wid + 1)

    def every(self, value: int) -> range:
        """Return the ids of the windows around a value, as if the query ran for ever."""
        if self.precedes(value):
            return range(0)
        first = stop = number_of(self._slides, value)
        while self.whole(stop)[0] <= value:
            stop += 1
        return range(first, stop)

    def precedes(self, value: int) -> bool:
        """Return whether a value lies before the first span."""
        return value < begin(self._slides, 0)

    @property
    def _window(self) -> CalendarWindow:
        return cast("CalendarWindow", self.query.window)

    @property
    def _slides(self) -> Calendar:
        return self._window.slides


def _first_step(calendar: Calendar, number: int) -> int:
    """Return the day, or the month, since 1970 that a span begins with."""
    monday = 4 if calendar.unit == "week" else 0
    return monday + number * calendar.steps
