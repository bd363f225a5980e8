"""Defects of windows of rows, numbered as they arrive or by time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import (
    by_pattr,
    nullable_key,
    overlapping,
    ranked_rows,
    rows_in_log,
    several_lanes,
    some_query,
)
from chaos.planted_bugs.planted import planted
from windowing.engine import wids
from windowing.engine.columns import (
    AT,
    FIRST_OFFSET,
    FIRST_WINDOW,
    KEY_BOUND,
    LAST_WINDOW,
    PARTITION,
    RELEASE,
    WINDOW_ID,
)
from windowing.engine.progress.clock import ClockState, Course, Rows, _RowClock
from windowing.engine.progress.reached import (
    LaneProgress,
    Progress,
    RowProgress,
    looked_up,
    per_row,
)
from windowing.engine.wids import ENDED, NOTHING_YET, ON_TIME, Flags, Ints
from windowing.engine.windows.part import Scan, Tables
from windowing.engine.windows.rows import ROWS, RankedLanePart, RankedShardPart
from windowing.engine.windows.sliding import SlidingShardPart
from windowing.engine.windows.sliding_lane import PARTIALS, Span
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.windows.window import ROW_NUM


# Row numbers that also count control records. How one gets it: row numbers derived from offsets,
# which in-band control records also have.
@planted("controls_are_counted", "deterministic", shows_in=some_query(rows_in_log))
class OffsetClock(_RowClock):
    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:
        course = super().run(rows, state, keys)
        if self._key is not None:
            return course
        others = np.cumsum(~rows.is_data)[rows.is_data]
        return replace(course, values=course.values + others)


# Windows of rows without the first ones, which hold fewer rows. How one gets it: a sliding buffer
# that reports only once it is full.
@planted("first_windows_left_out", "deterministic", shows_in=some_query(rows_in_log, overlapping))
class FullShardPart(SlidingShardPart):
    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        rows, window = super().rows(tables, before, after), self._query.window
        if not len(rows) or window.range_ is None:
            return rows
        return rows.filter((pl.col(WINDOW_ID) + 1) * window.slide >= window.range_)


def over_rows(_: Pipeline, query: Query) -> bool:
    """Whether windows are over row numbers."""
    return query.window.attribute == ROW_NUM


# Windows of rows for each value of PATTR except null. How one gets it: SQL's `NULL = NULL`.
@planted(
    "null_pattr_never_closes",
    "deterministic, closing",
    at=("windowing.engine.progress.reached:looked_up", "windowing.engine.windows.rows:looked_up"),
    shows_in=some_query(over_rows, by_pattr, nullable_key),
)
def by_equality(units: pl.DataFrame, table: pl.DataFrame, name: str, default: int) -> Ints:
    keys = [column for column in table.columns if column in units.columns and column != name]
    return looked_up(units, table.drop_nulls(keys), name, default)


# Rows in order of time that are numbered from 0 again after each compaction. How one gets it: a
# counter derived from state that is later compacted.
@planted("ranked_again_from_zero", "deterministic", shows_in=some_query(ranked_rows))
class FreshShardPart(RankedShardPart):
    def _numbered_before(self, tables: Tables, rows: pl.DataFrame) -> Ints:
        del tables, rows
        return np.array([0])


# Rows in order of time that are numbered when progress reaches them, not when it passes. How one
# gets it: a watermark read as inclusive.
@planted("ranked_at_the_bound", "deterministic, closing", shows_in=some_query(ranked_rows))
class EagerShardPart(RankedShardPart):
    def _passed(self, tables: Tables, progress: Progress) -> pl.DataFrame:
        rows = tables[ROWS]
        return rows.filter(pl.col(AT) <= per_row(progress.of(rows)))

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        rows = tables[ROWS]
        at = rows.filter(pl.col(AT) > per_row(after.of(rows)))[AT].to_numpy()
        return int(at.min(initial=ENDED))

    def retained(self, tables: Tables, after: Progress) -> Tables:
        # Compact as early as rows are numbered.
        rows = tables[ROWS]
        waiting = rows.filter(pl.col(AT) > per_row(after.of(rows)))
        numbered = rows.filter(pl.col(AT) <= per_row(after.of(rows)))
        before = pl.col(AT) - 1  # as if they were a little earlier
        return super().retained(
            {**tables, ROWS: pl.concat([waiting, numbered.with_columns(before.alias(AT))])}, after
        )


# A row exactly at its lane's progress gets no number. How one gets it: a bound read as inclusive.
@planted(
    "ranked_late_at_the_bound",
    "deterministic, conservation, dead letters",
    shows_in=some_query(ranked_rows),
)
class StrictLanePart(RankedLanePart):
    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        late = scan.progress_us == scan.values
        return super()._spans(replace(scan, progress_us=scan.progress_us + late))


# Rows in order of time whose numbering includes late rows. How one gets it: a rank over
# everything stored.
@planted(
    "ranked_late_rows_too",
    "deterministic, conservation, dead letters",
    shows_in=some_query(ranked_rows),
)
class WelcomingLanePart(RankedLanePart):
    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        return super()._spans(
            replace(scan, progress_us=np.full_like(scan.progress_us, NOTHING_YET))
        )


# Rows in order of time whose ties are broken by offset, ignoring the partition. How one gets it:
# one partition on the developer's machine.
@planted("ranked_ties_by_offset", "deterministic", shows_in=some_query(ranked_rows, several_lanes))
class OffsetShardPart(RankedShardPart):
    def _partials(self, tables: Tables, after: Progress) -> pl.DataFrame:
        rows = self._passed(tables, after).sort(*self._unit, AT, FIRST_OFFSET, PARTITION)
        rank = pl.int_range(pl.len(), dtype=pl.Int64)
        number = rows.select(number=rank.over(self._unit) if self._unit else rank)["number"]
        grid = wids.grid(self._window)
        numbers = np.asarray(number.to_numpy() + self._numbered_before(tables, rows))
        partials = rows.drop(AT).with_columns(
            pl.Series(grid.first(numbers)).alias(FIRST_WINDOW),
            pl.Series(grid.last(numbers)).alias(LAST_WINDOW),
            pl.lit(ON_TIME, dtype=pl.Int64).alias(RELEASE),
        )
        partials = partials.filter(pl.col(FIRST_WINDOW) <= pl.col(LAST_WINDOW))
        held = [tables[PARTIALS]] if PARTIALS in tables else []
        return self._schema.concat([*held, partials])


# Rows that are numbered from 1. How one gets it: SQL's `row_number()` starts at 1, the grid of
# the windows at 0.
@planted("rows_from_one", "deterministic", shows_in=some_query(rows_in_log))
class OneClock(_RowClock):
    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:
        course = super().run(rows, state, keys)
        return replace(course, values=course.values + 1)


# Rows that are numbered from 0 in every batch. How one gets it: `monotonically_increasing_id` of
# a micro-batch.
@planted("rows_from_the_batch_on", "deterministic", shows_in=some_query(rows_in_log))
class BatchClock(_RowClock):
    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:
        before = state.reached
        state.reached = msgspec.structs.replace(before, furthest_us=NOTHING_YET)
        course = super().run(rows, state, None)
        state.reached = before.merge(state.reached)
        return course


# Rows in the order of arrival whose unit may come in two lanes. How one gets it: "partitioned by
# PATTR" is assumed, not checked.
@planted(
    "unit_of_two_lanes",
    "no error, deterministic",
    at="windowing.engine.progress.clock:RowProgress",
    shows_in=some_query(rows_in_log, by_pattr, several_lanes),
)
class TrustingProgress(RowProgress):
    @classmethod
    def of_lanes(
        cls, lanes: Sequence[LaneProgress], key: str | None, keys: pl.DataFrame | None, what: str
    ) -> RowProgress:
        del what
        ended = all(lane.progress_us == ENDED for lane in lanes)
        if key is None or keys is None:
            return RowProgress(None, max(0, *(lane.furthest_us for lane in lanes)), ended)
        counts = keys.group_by(key, maintain_order=True).agg(pl.col(KEY_BOUND).max())
        return RowProgress(counts, 0, ended)
