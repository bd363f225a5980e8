"""What every emitter is: a query's state and the stream's progress in, rows out.

What is emitted while progress moves from P to P' is a function of (state, P, P') and of nothing
else: no counters, no table of what was sent (`adr/0008`).
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import polars as pl

from windowing.engine.aggregates import Accumulators, AggregateOverflow
from windowing.engine.input.decode import column
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.assign.assigner import Tables
from windowing.model import Pipeline, Query
from windowing.model.run_errors import ResultOverflow


class Emitter(Protocol):
    """One query's part of a shard.

    Rows are frames with `window_id`, `revision`, `records`, `offsets` (list of structs `partition`,
    `first`, `last`, by partition), `key` (struct of the fields of the row's key, absent where there
    are none) and `values` (struct, in the order of the query). Retracting queries have `retracts`,
    sessions what `windowing.engine.windows.emission.sessions` says.
    """

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """The rows due while progress moves.

        Raises:
            ResultOverflow: a sum of integers leaves 64 bits.
        """

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """The stream's progress at which this state may next ask for a row; never later than it."""

    def retained(self, tables: Tables, after: Progress) -> Tables:
        """What some row after this progress can still need, merged where it may be.

        Equal states give equal bytes: every table is sorted.
        """


@runtime_checkable
class ShowsOpenWindows(Protocol):
    """What early rows ask of an emitter: those whose windows' traits include `shows_early`."""

    def open(self, tables: Tables, after: Progress) -> pl.DataFrame:
        """Contents of open windows (on-time records only), as rows; `revision` is undefined."""


@runtime_checkable
class MovesOpenWindows(ShowsOpenWindows, Protocol):
    """What early rows ask as well where windows are merging: an open one may move."""

    def moved(self, tables: Tables, after: Progress, shown: pl.DataFrame) -> pl.DataFrame:
        """Tombstones of open windows whose start has moved since early rows showed them.

        Args:
            tables: the query's state.
            after: how far progress is.
            shown: of early rows, the key's columns, `window_id`, `at_last`, and `number`, the
                revision.
        """

    def sessions(self, tables: Tables, after: Progress) -> pl.DataFrame:
        """All windows that the state holds, open or not: the key's columns, `window_id`."""


class Results:
    """Makes rows out of merged partial states, the same way for every class.

    Args:
        query: whose rows they are.
        pipeline: its pipeline.
    """

    def __init__(self, query: Query, pipeline: Pipeline) -> None:
        self._query = query
        self._accumulators = Accumulators.of(query, pipeline.source)
        self._names = {column(name): name for name in query.key}

    def of(self, parts: pl.DataFrame, *more: str) -> pl.DataFrame:
        """Merge over lanes and compute the results.

        Args:
            parts: partial states with the key's columns, `window_id`, `revision` and `partition`.
            more: further columns that name a row, or are the same in all parts of it.

        Raises:
            ResultOverflow: a sum of integers leaves 64 bits.
        """
        by = [*self._names, "window_id", "revision", *more]
        offsets = pl.struct("partition", "first", "last").sort_by("partition").alias("offsets")
        merged = self._accumulators.merge(parts, by, offsets, among=["partition", "first", "last"])
        try:
            values = self._accumulators.results(merged)
        except AggregateOverflow as error:
            key = tuple(merged[name][error.row] for name in self._names)
            msg = (
                f"query {self._query.name}, window {merged['window_id'][error.row]}, key "
                f"{key!r}: {error}; sum a float instead, or group by a finer key"
            )
            raise ResultOverflow(msg) from None
        columns = [
            *(merged[name] for name in ("window_id", "revision", *more, "records", "offsets")),
            pl.DataFrame(values).to_struct("values"),
        ]
        if self._names:
            columns.append(self.key_of(merged))
        return pl.DataFrame(columns)

    def key_of(self, parts: pl.DataFrame) -> pl.Series:
        """The key of each row of a frame, as a struct of its fields."""
        return parts.select(*self._names).rename(self._names).to_struct("key")
