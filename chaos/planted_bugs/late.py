"""Defects of late records: which are late, their epochs, and their revisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import (
    consistent,
    discarding,
    overlapping,
    retracting,
    sliding,
    some_query,
    updates,
)
from chaos.planted_bugs.conditions import dead_letters as to_dead_letters
from chaos.planted_bugs.planted import planted
from chaos.planted_bugs.windows import ShiftedProgress
from windowing.engine import wids
from windowing.engine.columns import KEY, OFFSET, RETRACTS, REVISION, WINDOW_ID
from windowing.engine.plan import Plan
from windowing.engine.progress.reached import Progress
from windowing.engine.shard import Emission, Shard
from windowing.engine.storage.parcel import Parcel
from windowing.engine.storage.state import StateStore
from windowing.engine.wids import ENDED, NOTHING_YET, ON_TIME, Flags, Ints, release_us
from windowing.engine.windows.part import Outcome, Scan, Tables, dead_letters
from windowing.engine.windows.sliding import _EVER, SlidingShardPart
from windowing.engine.windows.sliding_lane import Frontier, SlidingLanePart, Span
from windowing.model.file.pipeline import Pipeline, Query


# Consistent mode that behaves like generous mode. How one gets it: lateness is judged per window,
# as in most engines; the mode is ignored.
@planted(
    "consistent_is_generous",
    "deterministic, conservation, dead letters",
    shows_in=some_query(sliding, overlapping, consistent),
)
class GenerousLanePart(SlidingLanePart):
    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        generous = self._query.late.model_copy(update={"mode": "generous"})
        self._query = self._query.model_copy(update={"late": generous})
        return super()._spans(scan)


# Discarding windows that show everything in every revision. How one gets it: the policy is
# parsed, stored, and never read.
@planted("discarding_shows_all", "deterministic", shows_in=some_query(sliding, updates, discarding))
class KeepingShardPart(SlidingShardPart):
    def _sent(self, epochs: pl.DataFrame) -> pl.DataFrame:
        return super()._sent(epochs.with_columns(previous=_EVER))


# Late epochs whose end boundary is inclusive. How one gets it: `ceil(x / T) T` instead of
# `(x div T + 1) T`.
@planted(
    "epoch_boundary_belongs_to_both",
    "deterministic, closing, no error",
    at="windowing.engine.wids:release_us",
    shows_in=some_query(sliding, updates),
)
def rounded_up(instant_us: Ints, epoch_us: int) -> Ints:
    return np.where(instant_us % epoch_us == 0, instant_us, release_us(instant_us, epoch_us))


# Late records that are released with their own batch, not at their epoch. How one gets it: firing
# late panes per micro-batch, as an engine without epochs has to.
@planted(
    "epoch_by_wall_order",
    "deterministic, exactly once, closing",
    shows_in=some_query(sliding, updates),
)
class EagerShardPart(SlidingShardPart):
    def _revisions(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        ahead = ShiftedProgress(after, self._query.late.every_us or 0)
        return super()._revisions(tables, before, ahead)


def with_gaps(_: Pipeline, query: Query) -> bool:
    """Whether the slide is longer than the range."""
    return query.window.range_ is not None and query.window.slide > query.window.range_


# Records in the gaps between windows that are treated as late. How one gets it: one counter for
# "not added to any window".
@planted("gap_is_late", "conservation, dead letters", shows_in=some_query(sliding, with_gaps))
class SweepingLanePart(SlidingLanePart):
    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        _, spans = super()._spans(scan)
        return self._numbering.outside(scan.values), spans


# Windows that accept a record although its lane's progress is exactly at their end. How one gets
# it: one character.
@planted(
    "late_at_the_end_exactly",
    "deterministic, conservation, dead letters",
    shows_in=some_query(sliding),
)
class LenientLanePart(SlidingLanePart):
    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        known = (scan.progress_us != NOTHING_YET) & (scan.progress_us != ENDED)
        return super()._spans(replace(scan, progress_us=scan.progress_us - known))


# A late record that enters its window because the window is still open. How one gets it: "if the
# window exists, add to it".
@planted("late_in_revision_0", "deterministic, closing", shows_in=some_query(sliding, updates))
class WelcomingLanePart(SlidingLanePart):
    def _opened(self, progress_us: Ints) -> Frontier:
        return replace(super()._opened(progress_us), release=np.full_like(progress_us, ON_TIME))


# A window of late records only whose first row is revision 0. How one gets it: a counter per
# window that starts at 0.
@planted("late_only_window_is_full", "deterministic", shows_in=some_query(sliding, updates))
class CountingShardPart(SlidingShardPart):
    def _revisions(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        rows = super()._revisions(tables, before, after)
        if not len(rows):
            return rows
        named = self._group
        shown = self._on_time_at(tables, rows.select(named).unique()).select(named).unique()
        shown = shown.with_columns(less=pl.lit(0, dtype=pl.Int64))
        counted = rows.join(shown, on=named, how="left", nulls_equal=True)
        lower = pl.col(REVISION) - pl.col("less").fill_null(1)
        return counted.with_columns(lower.alias(REVISION)).drop("less")


# A late record that is released at the current progress, not at the end of its epoch. How one
# gets it: `x div T` instead of `x div T + 1`, or late firings "as soon as it comes".
@planted(
    "no_late_epochs", "deterministic, closing, no error", shows_in=some_query(sliding, updates)
)
class ImpatientLanePart(SlidingLanePart):
    def _opened(self, progress_us: Ints) -> Frontier:
        return replace(super()._opened(progress_us), release=progress_us)


# Records that become dead letters as soon as one of their windows rejects them. How one gets it:
# lateness is reported per window.
@planted(
    "partly_late_is_dead",
    "dead letters",
    shows_in=some_query(sliding, overlapping, to_dead_letters),
)
class ReportingLanePart(SlidingLanePart):
    def assign(self, scan: Scan) -> tuple[Outcome, Tables]:
        outcome, tables = super().assign(scan)
        outside, _ = self._spans(scan)
        first = self._numbering.first(scan.values)
        late = ~outside & (self._numbering.open_from(scan.progress_us) > first)
        letters = dead_letters(self._query, scan.data, late, scan.partition)
        both = pl.concat([outcome.dead_letters, letters]).unique(OFFSET, maintain_order=True)
        return replace(outcome, dead_letters=both), tables


# Windows that accept a late record exactly a retention after their end. How one gets it: one
# character.
@planted(
    "retention_edge_kept",
    "deterministic, dead letters, conservation",
    shows_in=some_query(sliding, updates),
)
class KeepingLanePart(SlidingLanePart):
    def _opened(self, progress_us: Ints) -> Frontier:
        longer = wids.lowered(progress_us, (self._query.retention_us or 0) + 1)
        return replace(super()._opened(progress_us), kept=self._numbering.open_from(longer))


# Revisions numbered by a counter in memory. How one gets it: a counter in a field of the operator
# instead of in its state.
@planted(
    "reused_identity",
    "deterministic, exactly once, repeatable",
    shows_in=some_query(sliding, updates),
)
class CountingShard(Shard):
    def __init__(self, plan: Plan, *args: Any, **options: Any) -> None:
        super().__init__(plan, *args, **options)
        self._sent: Counter[str] = Counter()

    def step(
        self, store: StateStore, parcels: Sequence[Parcel], wall_us: int | None = None
    ) -> Emission:
        emission = super().step(store, parcels, wall_us)
        for query, frame in emission.results.items():
            ordered = frame.sort(REVISION)
            numbers = [self._number(query, row) for row in ordered.iter_rows(named=True)]
            emission.results[query] = ordered.with_columns(
                pl.Series(numbers, dtype=pl.Int64).alias(REVISION)
            )
        return emission

    def _number(self, query: str, row: dict[str, object]) -> int:
        if row[REVISION] == 0:
            return 0
        window = repr((query, row[WINDOW_ID], row.get(KEY)))
        self._sent[window] += 1
        return self._sent[window]


# Retracting windows whose `op: retract` row has the number of the row that follows. How one gets
# it: the number is incremented before either row is written.
@planted(
    "takes_back_the_wrong_revision",
    "deterministic",
    shows_in=some_query(sliding, updates, retracting),
)
class ForwardShardPart(SlidingShardPart):
    def _sent(self, epochs: pl.DataFrame) -> pl.DataFrame:
        sent = super()._sent(epochs)
        if RETRACTS not in sent.columns:
            return sent
        raised = pl.col(REVISION) + pl.col(RETRACTS).cast(pl.Int64)
        return sent.with_columns(raised.alias(REVISION))
