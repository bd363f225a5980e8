"""Defects of windows of rows, as they arrive or by time, and of windows that records define."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import (
    by_n,
    by_pattr,
    by_rank,
    by_tuple,
    defined,
    keyed,
    nullable_key,
    overlapping,
    ranked_rows,
    rows_in_log,
    several_lanes,
    some_query,
    updates,
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
from windowing.engine.windows.by_record import DEFINERS, AtRecordsLanePart, AtRecordsShardPart
from windowing.engine.windows.part import Scan, Tables
from windowing.engine.windows.rows import ROWS, RankedLanePart, RankedShardPart
from windowing.engine.windows.sliding import SlidingShardPart
from windowing.engine.windows.sliding_lane import PARTIALS, Span
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.lengths import INT64_MIN
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


# Windows defined by records that lose their base at a punctuation. How one gets it: the
# punctuation step as printed in Li et al., section 4.4.
@planted("base_bin_dropped", "deterministic", shows_in=some_query(defined))
class PrintedShardPart(AtRecordsShardPart):
    def retained(self, tables: Tables, after: Progress) -> Tables:
        partials = tables[PARTIALS]
        behind = pl.col(FIRST_WINDOW) > per_row(self._gone(partials, after))
        return super().retained({**tables, PARTIALS: partials.filter(behind)}, after)


# Slide by n tuples where the first of n records defines a window, not the n-th. How one gets it:
# counting from 1 on one side, from 0 on the other.
@planted("first_of_n_defines", "deterministic", shows_in=some_query(by_n))
class FirstLanePart(AtRecordsLanePart):
    def _definers(self, scan: Scan) -> Flags:
        if scan.numbers is None:
            return super()._definers(scan)
        return super()._definers(replace(scan, numbers=scan.numbers - 1))


# Windows that only on-time records define. How one gets it: windows are created on the on-time
# path only.
@planted("late_record_defines_none", "deterministic", shows_in=some_query(defined, updates))
class PunctualLanePart(AtRecordsLanePart):
    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        return super()._tables(scan, spans) | {DEFINERS: super()._tables(scan, spans[:1])[DEFINERS]}


# Slide by n in rank order that also ranks late records. How one gets it: ranks computed over
# everything stored.
@planted("late_records_are_ranked", "deterministic", shows_in=some_query(by_rank))
class RankingLanePart(AtRecordsLanePart):
    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        all_ = [replace(span, first=scan.values) for span in spans]
        return super()._tables(scan, spans) | {DEFINERS: super()._tables(scan, all_)[DEFINERS]}


# Windows defined by a late record that omit on-time records where PATTR is null. How one gets it:
# a join with SQL's null semantics.
@planted(
    "null_unit_appears_empty",
    "deterministic",
    shows_in=some_query(defined, updates, by_pattr, nullable_key),
)
class SqlShardPart(AtRecordsShardPart):
    def _appearing(
        self, tables: Tables, windows: pl.DataFrame, before: Progress, after: Progress
    ) -> pl.DataFrame:
        held = super()._appearing(tables, windows, before, after)
        return held.drop_nulls(self._unit) if self._unit else held


# Slide by n in rank order whose compaction loses the number of passed records. How one gets it:
# purging a counter by time.
@planted("ranks_forgotten", "deterministic", shows_in=some_query(by_rank))
class ForgetfulShardPart(AtRecordsShardPart):
    def retained(self, tables: Tables, after: Progress) -> Tables:
        kept = super().retained(tables, after)
        return kept | {DEFINERS: kept[DEFINERS].filter(pl.col(FIRST_WINDOW) != INT64_MIN)}


# Windows defined by records that include their start. How one gets it: other classes have
# half-open windows, but open at the other end.
@planted("tuple_window_takes_its_start", "deterministic", shows_in=some_query(defined))
class ClosedLanePart(AtRecordsLanePart):
    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        outside, (on_time, *late) = super()._spans(scan)
        return outside, [replace(on_time, last=on_time.last + 1), *late]


class KeyedShardPart(AtRecordsShardPart):
    """Emits a key's own windows only."""

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        self._unit = self._keys
        return super().rows(tables, before, after)

    def retained(self, tables: Tables, after: Progress) -> Tables:
        self._unit = self._keys
        return super().retained(tables, after)


# Windows defined by records per group instead of per stream. How one gets it: keyed state, in
# which a key cannot see the others.
@planted(
    "windows_of_each_group",
    "deterministic",
    kinds=(KeyedShardPart,),
    shows_in=some_query(by_tuple, keyed),
)
class KeyedLanePart(AtRecordsLanePart):
    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        self._unit = self._keys
        return super()._tables(scan, spans)
