"""The two parts in which the engine evaluates a query's windows: a lane's and a shard's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import polars as pl

from windowing.engine.parcel import Parcel
from windowing.engine.progress.reached import Progress
from windowing.engine.wids import Ints

Tables = dict[str, pl.DataFrame]
"""A query's state, or what is added to it: frames by name. Which there are is the class's affair,
and its two parts agree on it."""


@dataclass(frozen=True)
class Scan:
    """A chunk with what its lane knows of each record: the progress before it.

    Attributes:
        partition: the lane's partition.
        data: the data records before the lane's end.
        values: of each, the windowing attribute.
        progress_us: the progress before each of them, of the lane and of the record's key.
        numbers: of each, its number among the records of its unit; None: nobody asked for it.
    """

    partition: int
    data: pl.DataFrame
    values: Ints
    progress_us: Ints
    numbers: Ints | None = None


@dataclass(frozen=True)
class Assigned:
    """What became of one chunk's data records for one query.

    Attributes:
        tables: what the chunk adds to the query's state in the shards.
        dead: dead letters of records that no window took.
        applied, outside, dropped: how many records; with the dead ones, each counts once.
    """

    tables: Tables
    dead: pl.DataFrame
    applied: int
    outside: int
    dropped: int


class LanePart(Protocol):
    """One query's part of a lane: records in, partial states for the shards out.

    It holds no state: what is remembered, the lane's clocks do.
    """

    def assign(self, scan: Scan) -> Assigned:
        """Find the windows of a chunk's records, and what becomes of those that are late."""

    def post(self, tables: Tables, parcels: Sequence[Parcel]) -> None:
        """Put each shard's part of the tables into its parcel, and say when it is due."""


class ShardPart(Protocol):
    """One query's part of a shard: its state and the stream's progress in, rows out.

    What is emitted while progress moves from P to P' is a function of (state, P, P') and of nothing
    else: no counters, no table of what was sent (`adr/0008`).

    Rows are frames with `window_id`, `revision`, `records`, `offsets` (list of structs `partition`,
    `first`, `last`, by partition), `key` (struct of the fields of the row's key, absent where there
    are none) and `values` (struct, in the order of the query). Retracting queries have `retracts`,
    sessions what `windowing.engine.windows.session` says.
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
    """What early rows ask of a shard's part: those whose windows' traits include `shows_early`."""

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
