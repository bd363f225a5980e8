"""Windows of local time, as the engine numbers them: a grid of days, or of months."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
import polars as pl

from windowing.engine.calendar import Spans, spans_of
from windowing.engine.columns import WINDOW_ID
from windowing.engine.wids import Flags, Grid, Ints, Numbering
from windowing.model.calendar import Calendar
from windowing.model.windows.calendar import CalendarWindow
from windowing.model.windows.window import Window


@dataclass(frozen=True)
class CalendarNumbering(Numbering):
    """The windows of a calendar.

    An edge has passed by an instant if its day has begun by then, so whatever compares instants
    with edges compares days: the windows are those of a grid that counts in days, or in months.
    """

    window: CalendarWindow

    @cached_property
    def steps(self) -> Spans:
        """The days or months, from 1970 on."""
        return spans_of(steps_of(self.window.slides))

    @cached_property
    def grid(self) -> Grid:
        """The windows, in days or months."""
        slides = self.window.slides
        first = spans_of(slides).phase
        return Grid(self.window.length, slides.steps, first, first)

    def open_from(self, instants: Ints) -> Ints:
        """Return the first window that has not ended by each instant."""
        return self.grid.open_from(self.steps.numbers(instants))

    def first(self, values: Ints) -> Ints:
        """Return the first window whose extent may hold each value."""
        return self.grid.first(self.steps.numbers(values))

    def last(self, values: Ints) -> Ints:
        """Return the last window whose extent holds each value."""
        return self.grid.last(self.steps.numbers(values))

    def span(self, values: Ints) -> tuple[Ints, Ints]:
        """Return `first` and `last` of each value."""
        return self.grid.span(self.steps.numbers(values))

    def outside(self, values: Ints) -> Flags:
        """Return which values lie before the first span of the calendar."""
        first: Ints = self.steps.begins(np.array([self.grid.origin]))
        return values < first

    def ends(self, windows: Ints) -> Ints:
        """Return the end of each window, at most `ENDED`."""
        return self.steps.begins(self.grid.ends(windows))

    def bounds(self, wid: int) -> tuple[int, int]:
        """Return start and end of one window; the start clipped to the first span's."""
        start, end = self.steps.begins(np.array(self.grid.bounds(wid))).tolist()
        active = self.window.active
        if active is None or active.begins_us is None or active.warmup == "skip":
            return start, end
        return max(start, active.begins_us), end

    def extents(self, rows: pl.DataFrame) -> list[tuple[int, int]]:
        """Return start and end of the window of each row."""
        ids, which = np.unique(rows[WINDOW_ID].to_numpy(), return_inverse=True)
        bounds = [self.bounds(wid) for wid in ids.tolist()]
        return [bounds[number] for number in which.tolist()]


def grain_us(window: Window) -> int:
    """Return the largest length of which all edges of a calendar's windows are multiples."""
    return CalendarNumbering(cast("CalendarWindow", window)).steps.grain_us


def steps_of(calendar: Calendar) -> Calendar:
    """Return the calendar of single days, or months, that another one's spans consist of."""
    return replace(calendar, unit=calendar.step, count=1)
