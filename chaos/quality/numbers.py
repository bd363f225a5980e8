"""Numbers of windows that are of none: periods of local time leave some over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from windowing.model.calendar import Calendar
from windowing.model.query import Flow
from windowing.model.windows.cumulate import Cumulate
from windowing.model.zones import read_table
from windowing.semantics.calendar import begin


def periods_of(query: Flow) -> dict[str, Any] | None:
    """Return which numbers the windows of a query have; None: all, one after the other."""
    window = query.window
    if window is None or not window.traits.periodic:
        return None
    cumulating = cast("Cumulate", window)
    if cumulating.calendar is None:
        return None
    calendar = cumulating.calendar
    return {
        "unit": calendar.unit,
        "zone": calendar.zone.name,
        "table": calendar.zone.spelled,
        "origin_us": calendar.origin_us,
        "slide_us": cumulating.slide,
        "numbers": cumulating.numbers,
    }


def between(first: int, last: int, periods: Mapping[str, Any] | None) -> Iterator[range]:
    """Yield the numbers of windows from one to another, both included.

    Args:
        periods: as `periods_of` gives them.
    """
    if periods is None:
        yield range(first, last + 1)
        return
    zone = read_table(periods["zone"], periods["table"])
    calendar = Calendar(periods["unit"], 1, zone, periods["origin_us"])
    numbers, slide = periods["numbers"], periods["slide_us"]
    for period in range(first // numbers, last // numbers + 1):
        windows = -(-(begin(calendar, period + 1) - begin(calendar, period)) // slide)
        begins = period * numbers
        found = range(max(first, begins), min(last + 1, begins + windows))
        if found:
            yield found
