"""Cumulating windows: slices as those of sliding windows, each in all later windows of its period.

A partial state counts in the windows from its slice on, up to the last of its period. So windows
hold what the one before held and one slice more, and nothing is kept or merged per window: what has
closed for good is one state per key, lane and period, and of windows that close together each is
its slice on top of the one before.

Source: CUMULATE of Flink SQL's windowing table-valued functions; evaluation from shared slices: Li
et al., "No pane, no gain", SIGMOD Record 2005; runs of windows per slice: ours.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import polars as pl

from windowing.engine.calendar import Spans, spans_of
from windowing.engine.columns import (
    FIRST_WINDOW,
    INSTANT,
    LAST_WINDOW,
    PARTITION,
    RELEASE,
    WINDOW_ID,
)
from windowing.engine.progress.reached import AllEnded, Progress, per_row, stamped
from windowing.engine.storage.frames import where
from windowing.engine.tuning import tuning
from windowing.engine.wids import ENDED, Flags, Grid, Ints, Numbering, slide_of
from windowing.engine.windows.intervals import content
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding import LATE, SlidingShardPart, first_revision
from windowing.engine.windows.sliding_lane import PARTIALS
from windowing.model import Pipeline, Query
from windowing.model.lengths import INT64_MAX
from windowing.model.windows.cumulate import Cumulate
from windowing.model.windows.window import Window


class Periodic(Numbering):
    """The numbering of windows that begin with their period."""

    @abstractmethod
    def periods(self, windows: Ints) -> Ints:
        """Return the period of each window."""


@dataclass(frozen=True)
class CumulatingGrid(Grid, Periodic):
    """Windows with ends one slide apart, and beginnings one range apart."""

    @property
    def steps(self) -> int:
        """How many windows a period has."""
        return (self.range_ or 0) // self.slide

    def last(self, values: Ints) -> Ints:
        """Return the last window of each value's period."""
        return self._last_of(slide_of(self, values))

    def span(self, values: Ints) -> tuple[Ints, Ints]:
        """Return `first` and `last` of each value; they are divided by the slide only once."""
        slides = slide_of(self, values)
        return np.maximum(slides, 0), self._last_of(slides)

    def _last_of(self, slides: Ints) -> Ints:
        within = slides % self.steps
        further = self.steps - 1 - within
        return np.where(slides > INT64_MAX - further, INT64_MAX, slides + further)

    def periods(self, windows: Ints) -> Ints:
        """Return the period of each window, counted from the origin."""
        return windows // self.steps

    def bounds(self, wid: int) -> tuple[int, int]:
        """Return start and end of one window; half-open."""
        period = wid // self.steps
        return self.origin + period * (self.range_ or 0), self.origin + (wid + 1) * self.slide


@dataclass(frozen=True)
class CumulatingCalendar(Periodic):
    """Windows of periods of local time, the last of each no longer than that.

    A period has as many numbers as the longest can have windows; the others are of no window.

    Attributes:
        spans: the periods.
        slide: distance between ends, in microseconds.
        steps: how many numbers a period has.
    """

    spans: Spans
    slide: int
    steps: int

    def open_from(self, instants: Ints) -> Ints:
        """Return the first window that has not ended by each instant."""
        period, begin, _ = self._around(instants)
        return period * self.steps + (instants - begin) // self.slide

    def last(self, values: Ints) -> Ints:
        """Return the last window of each value's period."""
        period, begin, end = self._around(values)
        return period * self.steps + (end - begin - 1) // self.slide

    def span(self, values: Ints) -> tuple[Ints, Ints]:
        """Return `first` and `last` of each value; their periods are looked for only once."""
        period, begin, end = self._around(values)
        number = period * self.steps
        return number + (values - begin) // self.slide, number + (end - begin - 1) // self.slide

    def ends(self, windows: Ints) -> Ints:
        """Return the end of each window; of a number without one, that of its period."""
        period, step = np.divmod(windows, self.steps)
        begin, end = self.spans.begins(period), self.spans.begins(period + 1)
        length = (step + 1) * self.slide
        return np.where(begin > end - length, end, begin + length)

    def bounds(self, wid: int) -> tuple[int, int]:
        """Return start and end of one window; half-open."""
        window = np.array([wid])
        return int(self.spans.begins(self.periods(window))[0]), int(self.ends(window)[0])

    def outside(self, values: Ints) -> Flags:
        """Return which values lie before the first period."""
        return values < self._least

    def after(self, windows: Ints, count: int) -> Ints:
        """Return the window that comes `count` windows after each; numbers have holes."""
        if not len(windows):
            return windows
        period, step = np.divmod(windows, self.steps)
        first, more = int(period.min()), count // self.steps + 2
        while True:
            edges = self.spans.begins(np.arange(first, int(period.max()) + more + 1))
            behind = np.concatenate([[0], np.cumsum(-(-np.diff(edges) // self.slide))])
            wanted = behind[period - first] + step + count
            if int(wanted.max()) < behind[-1] or edges[-1] == ENDED:
                break
            more *= 2
        found = np.searchsorted(behind, wanted, "right") - 1
        there = np.minimum(found, len(behind) - 2)
        numbers = (there + first) * self.steps + wanted - behind[there]
        return np.where(wanted < behind[-1], numbers, INT64_MAX)

    def exist(self, windows: Ints) -> Flags:
        """Return which numbers windows have: those that begin before their period ends."""
        period, step = np.divmod(windows, self.steps)
        there: Flags = step * self.slide < self.spans.begins(period + 1) - self.spans.begins(period)
        return there

    def periods(self, windows: Ints) -> Ints:
        """Return the span that each window cumulates."""
        return windows // self.steps

    @cached_property
    def _least(self) -> int:
        return int(self.spans.begins(np.array([0]))[0])

    def _around(self, instants: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the period of each instant, and where it begins and ends."""
        period = self.spans.numbers(instants)
        if not len(period):
            return period, period, period
        least, most = int(period.min()), int(period.max())
        if most - least > len(period):
            return period, self.spans.begins(period), self.spans.begins(period + 1)
        edges = self.spans.begins(np.arange(least, most + 2))
        return period, edges[period - least], edges[period - least + 1]


def numbering_of(window: Cumulate) -> Periodic:
    """Return the numbering of a window's clauses."""
    if window.calendar is not None:
        return CumulatingCalendar(spans_of(window.calendar), window.slide, window.numbers)
    return CumulatingGrid(window.range_, window.slide, window.origin, window.origin)


def grain_us(window: Window) -> int:
    """Return the largest length of which all periods of a calendar begin at a multiple."""
    calendar = cast("Cumulate", window).calendar
    assert calendar is not None  # noqa: S101 - others have a grid
    return spans_of(calendar).grain_us


class CumulateShardPart(SlidingShardPart):
    """The rows of cumulating windows."""

    def __init__(self, query: Query, pipeline: Pipeline, numbering: Periodic) -> None:
        super().__init__(query, pipeline, numbering)
        self._periodic = numbering

    def open(self, tables: Tables, after: Progress) -> pl.DataFrame:
        """Return the content of open windows as rows, to the end of each period."""
        due = self._due(tables, after, AllEnded(after))
        return self._results.of(first_revision(self._held(due)))

    def _first_rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows of revision 0 of the windows that end while progress moves."""
        due = self._due(tables, before, after)
        if _are_few(due):
            return self._rows_of(first_revision(self._held(due)))
        most = _pairs_of(due) // max(tuning().compiled_from_rows, 1)
        return pl.concat(map(self._grown, self._by_period(due, most)))

    def _by_period(self, due: pl.DataFrame, most: int) -> Iterator[pl.DataFrame]:
        """Yield the partial states of each period; all together if there are too many periods."""
        period = self._periodic.periods(due[LAST_WINDOW].to_numpy())
        known = np.unique(period)
        if len(known) > most:
            yield due
            return
        for one in known.tolist():
            yield where(due, period == one)

    def _grown(self, due: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of windows, each of which holds what the one before it holds."""
        from windowing.engine.windows.roll_up import rolled_up  # noqa: PLC0415 - loads numba

        merged = rolled_up(self._accumulators, due, self._keys)
        if merged is None:
            return self._rows_of(first_revision(self._held(due)))
        return self._results.of_merged(self._marked(first_revision(merged)), *self._more)

    def _held(self, due: pl.DataFrame) -> pl.DataFrame:
        """Return what windows hold of partial states, in each lane."""
        if _are_few(due):
            return self._accumulators.merge(self._expanded(due), [*self._group, PARTITION])
        return self._content(due.drop(RELEASE), self._listed(due, self._keys), self._keys)

    def _listed(self, partials: pl.DataFrame, unit: Sequence[str]) -> pl.DataFrame:
        """Return each window of a unit's periods from the first to the last that holds any."""
        period = self._periodic.periods(partials[LAST_WINDOW].to_numpy())
        spans = partials.with_columns(period=period).group_by([*unit, "period"])
        ends = spans.agg(pl.col(FIRST_WINDOW).min(), pl.col(LAST_WINDOW).max())
        named = [*unit, WINDOW_ID]
        return self._expanded(ends).select(named).sort(named)

    def _pairs(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return late partials and their windows; those of an epoch merged in each window.

        A record that is late for single windows is so for those that have closed: it is shown in
        all of them at once.
        """
        late = tables[PARTIALS].filter(LATE)
        if self._query.late.mode != "generous" or _are_few(late):
            return super()._pairs(tables, before, after)
        late = late.filter(pl.col(RELEASE) <= per_row(after.of(late)))
        unit = [*self._keys, RELEASE]
        by = [*unit, PARTITION]
        found = content(self._accumulators, late, self._listed(late, unit), unit, by)
        shown = stamped(found, before=before, after=after)
        return shown.with_columns(pl.col(RELEASE).alias(INSTANT))


def _are_few(partials: pl.DataFrame) -> bool:
    """Whether to list the windows of each partial state is cheap: one each, or not many in all."""
    pairs = _pairs_of(partials)
    return pairs == len(partials) or pairs < tuning().compiled_from_rows


def _pairs_of(partials: pl.DataFrame) -> int:
    """Return in how many windows partial states count, each window counted for each of them."""
    last, first = (partials[name].to_numpy() for name in (LAST_WINDOW, FIRST_WINDOW))
    return int((last - first + 1).sum())
