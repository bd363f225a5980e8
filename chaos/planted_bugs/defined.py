"""Defects of windows that records define: by tuple, by n, by rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from chaos.planted_bugs.conditions import (
    by_n,
    by_pattr,
    by_rank,
    by_tuple,
    defined,
    keyed,
    nullable_key,
    some_query,
    updates,
)
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import FIRST_WINDOW
from windowing.engine.progress.reached import Progress, per_row
from windowing.engine.wids import Flags
from windowing.engine.windows.by_record import DEFINERS, AtRecordsLanePart, AtRecordsShardPart
from windowing.engine.windows.part import Scan, Tables
from windowing.engine.windows.sliding_lane import PARTIALS, Span
from windowing.model.lengths import INT64_MIN


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
