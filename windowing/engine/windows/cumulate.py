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

import numpy as np
import polars as pl

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
from windowing.engine.wids import Grid, Ints, Numbering, slide_of
from windowing.engine.windows.intervals import content
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding import LATE, SlidingShardPart, first_revision
from windowing.engine.windows.sliding_lane import PARTIALS
from windowing.model import Pipeline, Query
from windowing.model.lengths import INT64_MAX
from windowing.model.windows.cumulate import Cumulate


class Periodic(Numbering):
    """The numbering of windows that begin with their period."""

    @abstractmethod
    def periods(self, windows: Ints) -> Ints:
        """Return the period of each window."""


@dataclass(frozen=True)
class CumulatingGrid(Grid, Periodic):
    """Windows with ends one slide apart, and beginnings one range apart."""

    @classmethod
    def of(cls, window: Cumulate) -> CumulatingGrid:
        """Return the numbering of a window's clauses."""
        return cls(window.range_, window.slide, window.origin, window.origin)

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


class CumulateShardPart(SlidingShardPart):
    """The rows of cumulating windows."""

    def __init__(self, query: Query, pipeline: Pipeline, numbering: Periodic) -> None:
        super().__init__(query, pipeline, numbering)
        self._periodic = numbering

    def open(self, tables: Tables, after: Progress) -> pl.DataFrame:
        """Return the content of open windows, up to the first window of the newest record.

        All later ones of its period hold the same.
        """
        still = self._due(tables, after, AllEnded(after))
        ended = self._numbering.ended_by(after.furthest(still))
        begun = np.maximum(ended, self._numbering.open_from(after.newest(still)))
        last = np.minimum(still[LAST_WINDOW].to_numpy(), begun)
        return self._first_rows_of(_running(still.with_columns(pl.Series(LAST_WINDOW, last))))

    def _first_rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows of revision 0 of the windows that end while progress moves."""
        return self._first_rows_of(self._due(tables, before, after))

    def _first_rows_of(self, due: pl.DataFrame) -> pl.DataFrame:
        pairs, worthwhile = _pairs_of(due), max(tuning().compiled_from_rows, 1)
        if pairs < worthwhile:
            listed = self._accumulators.merge(self._expanded(due), [*self._group, PARTITION])
            return self._rows_of(first_revision(listed))
        return pl.concat(map(self._grown, self._by_period(due, pairs // worthwhile)))

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
        if merged is not None:
            return self._results.of_merged(self._marked(first_revision(merged)), *self._more)
        windows = self._listed(due, self._keys)
        return self._rows_of(first_revision(self._content(due.drop(RELEASE), windows, self._keys)))

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
        if self._query.late.mode != "generous" or _pairs_of(late) < tuning().compiled_from_rows:
            return super()._pairs(tables, before, after)
        late = late.filter(pl.col(RELEASE) <= per_row(after.of(late)))
        unit = [*self._keys, RELEASE]
        by = [*unit, PARTITION]
        found = content(self._accumulators, late, self._listed(late, unit), unit, by)
        shown = stamped(found, before=before, after=after)
        return shown.with_columns(pl.col(RELEASE).alias(INSTANT))


def _running(partials: pl.DataFrame) -> pl.DataFrame:
    return partials.filter(pl.col(FIRST_WINDOW) <= pl.col(LAST_WINDOW))


def _pairs_of(partials: pl.DataFrame) -> int:
    """Return in how many windows partial states count, each window counted for each of them."""
    last, first = (partials[name].to_numpy() for name in (LAST_WINDOW, FIRST_WINDOW))
    return int((last - first + 1).sum())
