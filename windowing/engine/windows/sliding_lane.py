"""The lane's part of sliding and tumbling windows, and of all windows that follow from values.

Lateness only grows with a lane's progress, and progress is a maximum. So a chunk can be read as if
nothing came before it (`scan`), and what the lane's earlier progress means for it is added later
(`settle`): see `adr/0024`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from windowing.engine import wids
from windowing.engine.aggregates import Accumulators
from windowing.engine.columns import (
    FIRST_WINDOW,
    LAST_WINDOW,
    OFFSET,
    RELEASE,
)
from windowing.engine.storage.frames import where
from windowing.engine.wids import ON_TIME, Flags, Ints, Numbering
from windowing.engine.windows.active import ActiveLanes, ActiveWindows
from windowing.engine.windows.own_numbering import located
from windowing.engine.windows.part import (
    Outcome,
    Scan,
    Tables,
    key_columns,
    outcome_of,
    route,
)
from windowing.model import Pipeline, Query
from windowing.model.windows.window import ROW_NUM

PARTIALS, UNSETTLED = "partials", "unsettled"
# Of partial states of records that are late by their own chunk: what its progress has opened.
OPEN, KEPT = "open", "kept"


@dataclass(frozen=True)
class Span:
    """The windows that a chunk's records count in.

    Attributes:
        chosen: the records concerned.
        first, last: the windows of each record.
        release: the late epoch that each record waits for, or ON_TIME.
    """

    chosen: Flags
    first: Ints
    last: Ints
    release: Ints

    def columns(self) -> list[pl.Series]:
        """Return the span of each chosen record."""
        spans = pl.DataFrame(
            [
                pl.Series(FIRST_WINDOW, self.first),
                pl.Series(LAST_WINDOW, self.last),
                pl.Series(RELEASE, self.release),
            ]
        )
        return where(spans, self.chosen).get_columns()


@dataclass(frozen=True)
class Frontier:
    """What follows from progress, which only ever grows with it.

    Attributes:
        windows: the first window that has not ended.
        kept: under `update`, the first that late records may still change.
        release: under `update`, the late epoch that a late record waits for.
    """

    windows: Ints
    kept: Ints
    release: Ints


class SlidingLanePart:
    """The lane's part: assigns windows to a chunk's records, and pre-aggregates by slice.

    Args:
        query: a query with a sliding or landmark window, over an attribute or row numbers.
        numbering: the windows' numbering; None: that of the window language.

    Attributes:
        route: the columns whose hash selects the shard of a partial state.
    """

    def __init__(
        self, query: Query, pipeline: Pipeline, numbering: Numbering | None = None
    ) -> None:
        self._query, self._source = query, pipeline.source
        self._numbering = numbering or wids.grid(query.window)
        self._active = ActiveWindows.of(query.window, self._numbering)
        self._lanes = ActiveLanes.of(query.window, pipeline.source, self._numbering)
        self._accumulators = Accumulators.of(query, pipeline.source)
        self._keys, self.route = key_columns(query), route(query, pipeline.source)

    def assign(self, scan: Scan) -> tuple[Outcome, Tables]:
        """Split the records into on-time, late, and refused."""
        outside, spans = self._spans(scan)
        return self._outcome(scan, outside, spans), self._tables(scan, spans)

    def judge(self, scan: Scan) -> Outcome:
        """Return what becomes of records, without the windows' contents."""
        return self._outcome(scan, *self._spans(scan))

    def outside(self, scan: Scan) -> Flags:
        """Return which records are in no window, whatever the progress."""
        if self._query.window.attribute == ROW_NUM:
            return np.zeros(len(scan.values), dtype=bool)
        return self._spans(scan)[0]

    def scan(self, scan: Scan) -> Tables:
        """Return the windows' contents as if nothing came before the chunk."""
        with located(scan, self._source):
            outside, first, last = self._windows(scan)
            opened = self._opened(scan.progress_us)
        late = ~outside & (opened.windows > first)
        on_time = Span(~outside & ~late, first, last, np.full(len(first), ON_TIME))
        tables = self._tables(scan, [on_time])
        if late.any():
            span = Span(late, first, last, opened.release)
            # Beyond the last window all is the same.
            beyond = last[late] + 1
            marks = [
                pl.Series(OPEN, np.minimum(opened.windows[late], beyond)),
                pl.Series(KEPT, np.minimum(opened.kept[late], beyond)),
            ]
            tables[UNSETTLED] = self._merged([self._lifted(scan, span, marks)], OPEN, KEPT)
        return tables

    def settle(self, tables: Tables, before: int, partition: int) -> Tables:
        """Return the tables that `assign` would have made."""
        del partition
        parts = [
            tables[PARTIALS].with_columns(_same(FIRST_WINDOW, OPEN), _same(FIRST_WINDOW, KEPT))
        ]
        parts += [tables[UNSETTLED]] if UNSETTLED in tables else []
        scanned = self._accumulators.concat(parts)
        opened = self._raised(scanned, before)
        first, last = (scanned[name].to_numpy() for name in (FIRST_WINDOW, LAST_WINDOW))
        spans = self._split(~np.zeros(len(first), dtype=bool), first, last, opened)
        plain = scanned.drop(OPEN, KEPT, FIRST_WINDOW, LAST_WINDOW, RELEASE)
        settled = [plain.filter(span.chosen).with_columns(span.columns()) for span in spans]
        return {PARTIALS: self._merged(settled)}

    def _raised(self, scanned: pl.DataFrame, before: int) -> Frontier:
        """Return what follows from the larger of two progresses: of the chunk, and before it."""
        reached = self._opened(np.array([before]))
        return Frontier(
            np.maximum(scanned[OPEN].to_numpy(), reached.windows),
            np.maximum(scanned[KEPT].to_numpy(), reached.kept),
            np.maximum(scanned[RELEASE].to_numpy(), reached.release),
        )

    def _outcome(self, scan: Scan, outside: Flags, spans: Sequence[Span]) -> Outcome:
        taken = np.logical_or.reduce([span.chosen for span in spans])
        if self._query.window.attribute == ROW_NUM:
            # A row in a gap between windows counts as applied, not outside: it had a number.
            taken = taken | outside
        return outcome_of(self._query, scan, taken, ~outside & ~taken)

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        """Return the records in no window, and the windows of the others: on time, and waiting."""
        with located(scan, self._source):
            outside, first, last = self._windows(scan)
            opened = self._opened(scan.progress_us)
        return outside, self._split(~outside, first, last, opened)

    def _windows(self, scan: Scan) -> tuple[Flags, Ints, Ints]:
        """Return which records are in no window, and the first and last window of each.

        The first is that of a query that runs for ever: it decides what `consistent` calls late.
        """
        values = scan.values
        first, last = self._numbering.span(values)
        outside = self._numbering.outside(values)
        if self._active is None or self._lanes is None:
            return outside | (last < first), first, last
        offsets = scan.data[OFFSET].to_numpy()
        last = self._lanes.last(scan.partition, offsets, last)
        outside |= self._active.before(values) | self._lanes.absent(scan.partition, offsets)
        return outside | (last < self._active.from_first(first)), first, last

    def _opened(self, progress_us: Ints) -> Frontier:
        opened, late = self._numbering.open_from(progress_us), self._query.late
        if late.policy != "update":
            return Frontier(opened, opened, np.full(len(opened), ON_TIME))
        retention_us = self._query.retention_us
        assert retention_us is not None  # noqa: S101 - `update` has both, as checked
        assert late.every_us is not None  # noqa: S101
        kept = self._numbering.open_from(wids.lowered(progress_us, retention_us))
        return Frontier(opened, kept, wids.release_us(progress_us, late.every_us))

    def _split(self, inside: Flags, first: Ints, last: Ints, opened: Frontier) -> list[Span]:
        """Return the windows of records: on time, and waiting for a late epoch."""
        late = inside & (opened.windows > first)
        if self._query.late.mode == "consistent":
            accepts_from = np.where(late, last + 1, first)
        else:
            accepts_from = np.maximum(first, opened.windows)
        taken = inside & (accepts_from <= last)
        spans = [Span(taken, accepts_from, last, np.full(len(first), ON_TIME))]
        if self._query.late.policy == "update":
            last_late = np.minimum(last, accepts_from - 1)
            first_late = np.maximum(first, opened.kept)
            waits = late & (first_late <= last_late)
            spans.append(Span(waits, first_late, last_late, opened.release))
        return spans if self._active is None else [_clipped(span, self._active) for span in spans]

    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        return {PARTIALS: self._merged([self._lifted(scan, span) for span in spans])}

    def _lifted(self, scan: Scan, span: Span, more: Sequence[pl.Series] = ()) -> pl.DataFrame:
        records = where(scan.data, span.chosen)
        keys = (records[key] for key in self._keys)
        return pl.DataFrame([*keys, *span.columns(), *more, *self._accumulators.lift(records)])

    def _merged(self, parts: Sequence[pl.DataFrame], *more: str) -> pl.DataFrame:
        named = [*self._keys, FIRST_WINDOW, LAST_WINDOW, RELEASE, *more]
        return self._accumulators.merge(self._accumulators.concat(parts), named)

    def due_us(self, table: pl.DataFrame) -> Ints:
        """Return the earliest progress at which each row of a table may make a row due."""
        ends = self._numbering.ends(table[FIRST_WINDOW].to_numpy())
        due: Ints = np.maximum(ends, table[RELEASE].to_numpy())
        return due


def _clipped(span: Span, active: ActiveWindows) -> Span:
    first = active.from_first(span.first)
    return Span(span.chosen & (first <= span.last), first, span.last, span.release)


def _same(name: str, copy: str) -> pl.Expr:
    return pl.col(name).alias(copy)
