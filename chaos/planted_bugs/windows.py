"""Defects of sliding, tumbling and landmark windows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import early, landmark, sliding, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine import wids
from windowing.engine.columns import FIRST_WINDOW, KEY, RECORDS, REVISION, WINDOW_ID
from windowing.engine.moves import Moves
from windowing.engine.plan import Plan
from windowing.engine.progress.reached import LaneProgress, Progress, per_row
from windowing.engine.shard import Emission, Shard
from windowing.engine.storage.state import StateStore
from windowing.engine.storage.tables import ShardState
from windowing.engine.wids import ENDED, NOTHING_YET, Flags, Grid, Ints, Numbering, grid
from windowing.engine.windows.active import ActiveWindows, _last
from windowing.engine.windows.part import Scan, Tables
from windowing.engine.windows.sliding import LandmarkShardPart, SlidingShardPart
from windowing.engine.windows.sliding_lane import PARTIALS, SlidingLanePart, Span
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.windows.window import Window


@dataclass(frozen=True)
class ShiftedProgress:
    """A progress that is too high or too low by a fixed amount.

    Attributes:
        by_us: the amount added; "not begun" and "ended" are kept.
    """

    progress: Progress
    by_us: int

    @property
    def highest(self) -> int:
        return int(self._shifted(np.array([self.progress.highest]))[0])

    def of(self, units: pl.DataFrame) -> Ints:
        return self._shifted(self.progress.of(units))

    def furthest(self, units: pl.DataFrame) -> Ints:
        return self.progress.furthest(units)

    def newest(self, units: pl.DataFrame) -> Ints:
        return self.progress.newest(units)

    def _shifted(self, progress_us: Ints) -> Ints:
        known = (progress_us != ENDED) & (progress_us != NOTHING_YET)
        return np.where(known, np.where(known, progress_us, 0) + self.by_us, progress_us)


def aligned_by_end(_: Pipeline, query: Query) -> bool:
    """Whether windows begin at the origin."""
    return query.window.align == "end"


# Windows that accept records before the origin. How one gets it: `floor((ts - origin) / slide)`
# without a check of the sign.
@planted("before_the_origin", "conservation", shows_in=some_query(sliding, aligned_by_end))
class EndlessGrid(Grid):
    def first(self, values: Ints) -> Ints:
        return self.open_from(values)

    def outside(self, values: Ints) -> Flags:
        return np.zeros(len(values), dtype=bool)


# Windows that close when progress passes their end, not when it reaches it. How one gets it: one
# character.
@planted("closes_after_end", "deterministic, closing", shows_in=some_query(sliding))
class HesitantShardPart(SlidingShardPart):
    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        return super().rows(tables, ShiftedProgress(before, -1), ShiftedProgress(after, -1))

    def next_due_us(self, tables: object, after: object) -> int:
        return NOTHING_YET  # look every time


# Early rows that advance progress and so close their windows. How one gets it: one timer service
# for early and for on-time firings.
@planted("early_rows_close", "deterministic, closing", shows_in=some_query(sliding, early))
class ClosingShard(Shard):
    def _emit(self, store: StateStore, state: ShardState, moved: Moves, emission: Emission) -> None:
        super()._emit(store, state, moved, emission)
        if not emission.early:
            return
        for lanes in state.reached.values():
            newest = max(lane.newest_us for lane in lanes)
            if newest != NOTHING_YET:
                lanes[:] = [lane.merge(LaneProgress(progress_us=newest)) for lane in lanes]


# Windows without a full row if an early row has shown the same content. How one gets it: "has it
# changed since the last row?", for early and full rows alike.
@planted("early_rows_count_as_sent", "deterministic", shows_in=some_query(sliding, early))
class SparingShard(Shard):
    def __init__(self, plan: Plan, *args: Any, **options: Any) -> None:
        super().__init__(plan, *args, **options)
        self._shown: set[str] = set()

    def _emit(self, store: StateStore, state: ShardState, moved: Moves, emission: Emission) -> None:
        super()._emit(store, state, moved, emission)
        for query, rows in emission.results.items():
            full = (rows[REVISION] == 0).to_list()
            known = [shown in self._shown for shown in _named(query, rows)]
            kept = [not (of_end and seen) for of_end, seen in zip(full, known, strict=True)]
            emission.results[query] = rows.filter(pl.Series(kept, dtype=pl.Boolean))
        for query, rows in emission.early.items():
            self._shown |= set(_named(query, rows))


def _named(query: str, rows: pl.DataFrame) -> list[str]:
    names = [name for name in (WINDOW_ID, KEY, RECORDS) if name in rows.columns]
    return [repr((query, row)) for row in rows.select(names).rows()]


def joins(_: Pipeline, query: Query) -> bool:
    """Whether a query joins, and leaves the windows out that were under way."""
    active = query.window.active
    return active is not None and active.begins_us is not None and active.warmup == "skip"


# A query that joins and shows windows that were under way, as if they were whole. How one gets
# it: the engine starts a query where it stands, and what came before is missing.
@planted(
    "joins_on_the_way",
    "deterministic, conservation, dead letters",
    at="windowing.engine.windows.sliding_lane:ActiveWindows",
    shows_in=some_query(joins),
)
class HastyActiveWindows(ActiveWindows):
    @classmethod
    def of(cls, window: Window, numbers: Numbering | None = None) -> Self | None:
        found, active = super().of(window, numbers), window.active
        if found is None or active is None or active.begins_us is None:
            return found
        numbers = numbers or grid(window)
        first = int(numbers.open_from(np.array([active.begins_us]))[0])
        return cls(min(first, found.first), found.last, found.begins)


# Landmark windows whose compaction drops what lies behind progress. How one gets it: one purging
# rule for all window classes.
@planted("landmark_prefix_lost", "deterministic", shows_in=some_query(landmark))
class PurgingShardPart(LandmarkShardPart):
    def retained(self, tables: Tables, after: Progress) -> Tables:
        partials = tables[PARTIALS]
        behind = pl.col(FIRST_WINDOW) > per_row(self._gone(partials, after))
        return super().retained({PARTIALS: partials.filter(behind)}, after)


# Landmark windows that are emitted only if they have new records. How one gets it: "empty windows
# give no row", applied to slices.
@planted("landmark_silent_without_news", "deterministic", shows_in=some_query(landmark))
class SparseShardPart(LandmarkShardPart):
    def _full(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        entered = tables[PARTIALS][FIRST_WINDOW].unique().implode()
        return super()._full(tables, before, after).filter(pl.col(WINDOW_ID).is_in(entered))


# Landmark windows that stop at the newest record when the log ends. How one gets it: the end of
# input is taken to be the last record.
@planted("landmark_stops_at_the_newest", "deterministic", shows_in=some_query(landmark))
class ShortShardPart(LandmarkShardPart):
    def _ended_between(
        self, units: pl.DataFrame, before: Progress, after: Progress
    ) -> tuple[Ints, Ints]:
        first, last = super()._ended_between(units, before, after)
        newest = self._numbering.open_from(after.newest(units))
        return first, np.minimum(last, newest)


def leaves(_: Pipeline, query: Query) -> bool:
    active = query.window.active
    return active is not None and active.until_us is not None


# A query that leaves and still shows the windows that were open. How one gets it: no new window
# is opened after `until`, and those that are open are finished.
@planted(
    "leaves_too_late",
    "deterministic, conservation, dead letters",
    at="windowing.engine.windows.active:_last",
    shows_in=some_query(leaves),
)
def last_that_begins(numbers: Numbering, until_us: int) -> int:
    more = 1
    if isinstance(numbers, Grid) and numbers.range_ is not None:
        more = -(-numbers.range_ // numbers.slide)
    return _last(numbers, until_us) + more


def undivided(_: Pipeline, query: Query) -> bool:
    """Whether the slide does not divide the range."""
    window = query.window
    return window.range_ is not None and 0 < 2 * (window.range_ % window.slide) != window.slide


# Slides cut into slices at R mod S from their start instead of from their end. How one gets it:
# the slicing of an engine that aligns starts, in one that aligns ends.
@planted("slices_cut_from_the_start", "deterministic", shows_in=some_query(sliding, undivided))
class StartLanePart(SlidingLanePart):
    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        outside, (on_time, *late) = super()._spans(scan)
        grid = wids.grid(self._query.window)
        slide, rest = grid.slide, (grid.range_ or 0) % grid.slide
        within = (scan.values - grid.origin) % slide
        right, wrong = within >= slide - rest, within >= rest
        shifted = on_time.last + wrong.astype(np.int64) - right
        return outside, [replace(on_time, last=np.maximum(shifted, on_time.first)), *late]


def aligned_by_start(_: Pipeline, query: Query) -> bool:
    return query.window.align == "start"


# Start-aligned windows that begin with the origin, as end-aligned ones do. How one gets it: one
# rule for both alignments.
@planted(
    "start_aligned_first_window",
    "conservation, deterministic",
    shows_in=some_query(sliding, aligned_by_start),
)
class ClippedGrid(Grid):
    def outside(self, values: Ints) -> Flags:
        if self.least is not None or self.range_ is None:
            return super().outside(values)
        return values < self.origin + self.slide - self.range_


# Windows that include their end and exclude their start. How one gets it: some systems have
# windows that are closed at the end. A record at the end of a window before a gap counts as
# applied.
@planted("window_takes_its_end", "deterministic, conservation", shows_in=some_query(sliding))
class ClosedLanePart(SlidingLanePart):
    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        return super()._spans(replace(scan, values=scan.values - 1))
