"""Assignment by value: the windows of a record follow from its windowing attribute.

A partial state counts in the windows `w_first` to `w_last`, from its `release` on if it is late.
Records of one slice have the same first and last window, so the pair names the slice; a record that
is late for its first windows gets a later `w_first` and so a partial state of its own.

Landmark windows differ in that no later window loses a record again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from windowing.engine import wids
from windowing.engine.aggregates import Accumulators
from windowing.engine.frames import to_bytes
from windowing.engine.parcel import Addition, Parcel, split
from windowing.engine.wids import ENDED, ON_TIME, Flags, Ints
from windowing.engine.windows.assign.assigner import dead_letters, key_columns, route
from windowing.engine.windows.part import Assigned, Scan, Tables
from windowing.model import Pipeline, Query
from windowing.model.windows.window import ROW_NUM

PARTIALS = "partials"


@dataclass(frozen=True)
class Span:
    """Of a chunk's records, the windows that they count in.

    Attributes:
        chosen: which records this is about.
        first, last: of each record, the windows.
        release: of each record, the late epoch that it waits for, or ON_TIME.
    """

    chosen: Flags
    first: Ints
    last: Ints
    release: Ints

    def columns(self) -> list[pl.Series]:
        """The span of each chosen record."""
        return [
            pl.Series("w_first", self.first[self.chosen]),
            pl.Series("w_last", self.last[self.chosen]),
            pl.Series("release", self.release[self.chosen]),
        ]


class SlidingAssigner:
    """Finds the windows of a chunk's records for one query, and pre-aggregates by slice.

    Args:
        query: with a sliding or landmark window, over an attribute or over row numbers.
        pipeline: its pipeline.
    """

    def __init__(self, query: Query, pipeline: Pipeline) -> None:
        self._query, self._shards = query, pipeline.shards
        self._grid = wids.grid(query.window)
        self._accumulators = Accumulators.of(query, pipeline.source)
        self._keys, self._route = key_columns(query), route(query, pipeline.source)

    def assign(self, scan: Scan) -> Assigned:
        """Split the records into on-time, late, and refused."""
        outside, spans = self._spans(scan)
        taken = np.logical_or.reduce([span.chosen for span in spans])
        if self._query.window.attribute == ROW_NUM:
            # A row in a gap between windows had its number: it is used up, and not outside.
            taken, outside = taken | outside, np.zeros(len(taken), dtype=bool)
        refused = ~outside & ~taken
        dead = dead_letters(self._query, scan.data, refused, scan.partition)
        return Assigned(
            tables=self._tables(scan, spans),
            dead=dead,
            applied=int(taken.sum()),
            outside=int(outside.sum()),
            dropped=int(refused.sum()) - len(dead),
        )

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        """Which records are in no window, and the windows of the others: on time, and waiting."""
        query = self._query
        first = wids.first_window(query.window, scan.values)
        last = wids.last_window(self._grid, scan.values)
        outside = self._outside(scan.values) | (last < first)
        open_from = wids.slide_of(self._grid, scan.progress_us)
        late = ~outside & (open_from > first)
        if query.late.mode == "consistent":
            accepts_from = np.where(late, last + 1, first)
        else:
            accepts_from = np.maximum(first, open_from)
        taken = ~outside & (accepts_from <= last)
        spans = [Span(taken, accepts_from, last, np.full(len(first), ON_TIME))]
        if query.late.policy == "update":
            last_late = np.minimum(last, accepts_from - 1)
            waits, first_late, release = self._waiting(scan.progress_us, first, last_late)
            spans.append(Span(waits & late, first_late, last_late, release))
        return outside, spans

    def _outside(self, values: Ints) -> Flags:
        """Which records lie before all windows."""
        if self._query.window.align == "start":
            return np.zeros(len(values), dtype=bool)
        return values < self._grid.origin

    def _waiting(self, progress_us: Ints, first: Ints, last_late: Ints) -> tuple[Flags, Ints, Ints]:
        """Which records wait for a late epoch, from which window on, and the epoch's instant."""
        query = self._query
        assert query.retention_us is not None  # noqa: S101 - `update` was checked to have both
        assert query.late.every_us is not None  # noqa: S101
        kept_from = wids.slide_of(self._grid, wids.lowered(progress_us, query.retention_us))
        first_late = np.maximum(first, kept_from)
        release = wids.release_us(progress_us, query.late.every_us)
        return first_late <= last_late, first_late, release

    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        """The partial states of the records' slices: what agrees in key, windows and release."""
        parts = []
        for span in spans:
            records = scan.data.filter(pl.Series(span.chosen))
            parts.append(
                pl.DataFrame(
                    [
                        *(records[key] for key in self._keys),
                        *span.columns(),
                        *self._accumulators.lift(records),
                    ]
                )
            )
        named = [*self._keys, "w_first", "w_last", "release"]
        return {PARTIALS: self._accumulators.merge(self._accumulators.concat(parts), named)}

    def post(self, tables: Tables, parcels: Sequence[Parcel]) -> None:
        """Put each shard's part of the tables into its parcel."""
        empty = {name: to_bytes(table.clear()) for name, table in tables.items()}
        for name, table in tables.items():
            for number, part in split(table, self._route, self._shards):
                queries = parcels[number].queries
                # A shard gets all of the tables or none.
                addition = queries.setdefault(self._query.name, Addition(ENDED, {**empty}))
                addition.due_us = min(addition.due_us, int(self._due_us(part).min()))
                addition.tables[name] = to_bytes(part)

    def _due_us(self, table: pl.DataFrame) -> Ints:
        """The progress at which each row of a table may first ask for something."""
        ends = wids.end_us(self._grid, table["w_first"].to_numpy())
        due: Ints = np.maximum(ends, table["release"].to_numpy())
        return due
