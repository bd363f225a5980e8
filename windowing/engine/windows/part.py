"""The two parts in which the engine evaluates a query's windows: a lane's and a shard's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import polars as pl

from windowing.engine.columns import OFFSET, PARTITION, field_column
from windowing.engine.progress.reached import Progress
from windowing.engine.reading.refusals import late_columns
from windowing.engine.storage.parcel import DEAD_LETTER_SCHEMA
from windowing.engine.wids import Flags, Ints
from windowing.model import Query
from windowing.model.emission import Late
from windowing.model.fates import APPLIED, BY_WINDOWS, DEAD, DROPPED, OUTSIDE
from windowing.model.file.pipeline import Source
from windowing.model.query import Flow

Tables = dict[str, pl.DataFrame]
"""A query's state, or an addition to it: frames by name, as the two parts of the class define."""


@dataclass(frozen=True)
class Scan:
    """A chunk, with the progress before each of its records.

    Attributes:
        data: the data records before the lane's end.
        values: the windowing attribute of each.
        progress_us: the progress before each, of the lane and of the record's key.
        numbers: the number of each within its unit; None: not needed.
    """

    partition: int
    data: pl.DataFrame
    values: Ints
    progress_us: Ints
    numbers: Ints | None = None

    def where(self, chosen: Flags) -> Scan:
        """Return the chosen records alone; each keeps its number."""
        return Scan(
            self.partition,
            self.data.filter(pl.Series(chosen)),
            self.values[chosen],
            self.progress_us[chosen],
            None if self.numbers is None else self.numbers[chosen],
        )


@dataclass(frozen=True)
class Outcome:
    """What becomes of one chunk's data records in one query, or in each variant of a family.

    Attributes:
        dead_letters: of records that no window took.
        counts: numbers of records, as `counts_of` gives them.
    """

    dead_letters: pl.DataFrame
    counts: Ints

    def plus(self, refused: pl.DataFrame) -> Outcome:
        """Return the outcome with the dead letters of records that windows never saw."""
        if not len(refused):
            return self
        more = [len(refused) if fate is DEAD else 0 for fate in BY_WINDOWS]
        return Outcome(pl.concat([self.dead_letters, refused]), self.counts + np.array([more]))


def counts_of(
    late: Late, *, applied: int | Ints, outside: int | Ints = 0, refused: int | Ints = 0
) -> Ints:
    """Return numbers of records, each of which counts once: a row per variant, a column per fate.

    Args:
        late: decides what becomes of refused records.
        applied: number of records that some window took.
        outside: number of records in no window.
        refused: the number of late records that no window took.
    """
    buries = late.letter is not None
    numbers = {
        APPLIED: applied,
        OUTSIDE: outside,
        DEAD if buries else DROPPED: refused,
        DROPPED if buries else DEAD: np.zeros_like(refused),
    }
    columns = [np.atleast_1d(numbers[fate]) for fate in BY_WINDOWS]
    return np.column_stack(columns).astype(np.int64)


def outcome_of(query: Flow, scan: Scan, taken: Flags, refused: Flags) -> Outcome:
    """Return what becomes of records; those neither taken nor refused are outside all windows."""
    applied, late = int(taken.sum()), int(refused.sum())
    return Outcome(
        dead_letters(query, scan.data, refused, scan.partition),
        counts_of(query.late, applied=applied, outside=len(taken) - applied - late, refused=late),
    )


class LanePart(Protocol):
    """One query's part of a lane: from records to partial states for the shards.

    It is stateless: only the lane's clocks have state.
    """

    def assign(self, scan: Scan) -> tuple[Outcome, Tables]:
        """Find the windows of a chunk's records, and apply the late policy.

        Returns:
            what becomes of the records, and what they add to the query's state in the shards.
        """

    @property
    def route(self) -> Sequence[str]:
        """The columns whose hash selects the shard of a row of its tables."""

    def due_us(self, table: pl.DataFrame) -> Ints:
        """Return the earliest progress at which each row of a table may make a row due."""


@runtime_checkable
class Settles(LanePart, Protocol):
    """A lane's part that can read a chunk without knowing the lane's progress before it.

    That is possible where lateness only ever grows with progress: what the chunk alone says and
    what the earlier progress says are then merged by maximum, in either order. So `settle` of
    `scan` gives what `assign` would have given.
    """

    def scan(self, scan: Scan) -> Tables:
        """Return the windows' contents as if nothing came before the chunk."""

    def settle(self, tables: Tables, before: int, partition: int) -> Tables:
        """Return the tables that `assign` would have made, of one shard.

        Args:
            tables: a shard's part of a scan's.
            before: the lane's progress before the chunk.
        """

    def judge(self, scan: Scan) -> Outcome:
        """Return what becomes of records, without the windows' contents."""


class ShardPart(Protocol):
    """One query's part of a shard: from its state and the stream's progress to rows.

    What is emitted while progress moves from P to P' is a function of (state, P, P') and of nothing
    else: no counters, no table of what was sent (`adr/0008`).

    Rows are frames with `window_id`, `revision`, `records`, `offsets` (list of structs `partition`,
    `first`, `last`, by partition), `key` (struct of the fields of the row's key, absent where there
    are none) and `values` (struct, in the order of the query). Retracting queries have `retracts`,
    sessions what `windowing.engine.windows.session` says.
    """

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows due while progress moves."""

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return a lower bound of the stream's progress at which the next row is due."""

    def retained(self, tables: Tables, after: Progress) -> Tables:
        """Return what rows after this progress can still need, merged where possible.

        Equal states give equal bytes: every table is sorted.
        """


@runtime_checkable
class SeesArrivals(ShardPart, Protocol):
    """A shard's part that waits for some lanes only (`FlowPlan.waits_for`).

    So records of the other lanes may come when their rows are due already: these rows are emitted
    in the step that brings the records.
    """

    def rows_of_step(
        self, tables: Tables, arrived: Tables, before: Progress, after: Progress
    ) -> pl.DataFrame:
        """Return the rows due while progress moves, and those that were due before.

        Args:
            tables: the state, with what the step brings.
            arrived: of what the step brings, at least what is due at `before` already.
        """


@runtime_checkable
class TellsDue(Protocol):
    """A shard's part that says of each row of state how long no row of results needs it.

    So such state need not be read (`windowing.engine.storage.cold`).
    """

    def due_us(self, name: str, table: pl.DataFrame) -> Ints:
        """Return the progress that rows of state are not needed before.

        Args:
            name: of the table.
        """


@runtime_checkable
class ReplacesState(Protocol):
    """A query's part of a shard whose state depends on the order of records.

    Each step at which something is due replaces the state. Rows and the new state are functions of
    the state, the additions, and progress: equal logs give equal states at equal progress, however
    they are cut into batches.
    """

    def advance(
        self, tables: Tables, after: Progress, wall_us: int | None
    ) -> tuple[pl.DataFrame, Tables]:
        """Process what progress has reached; return the rows and the new state.

        Args:
            tables: the state, and what lanes have added to it.
            wall_us: the machine's clock, for queries that follow it.

        Raises:
            UserOperatorError: a user's operator failed.
        """

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return a lower bound of the stream's progress at which the next row is due."""

    def canonical_state(self, tables: Tables) -> Tables:
        """Return the state in an order that does not depend on batches."""


@runtime_checkable
class ShowsOpenWindows(Protocol):
    """A shard's part that early rows need: of windows with the trait `shows_early`."""

    def open(self, tables: Tables, after: Progress) -> pl.DataFrame:
        """Return open windows (on-time records only) as rows; `revision` is undefined."""


@runtime_checkable
class MovesOpenWindows(ShowsOpenWindows, Protocol):
    """A shard's part that early rows also need for merging windows, which may move while open."""

    def moved(self, tables: Tables, after: Progress, shown: pl.DataFrame) -> pl.DataFrame:
        """Return tombstones of open windows whose start has moved since early rows showed them.

        Args:
            shown: the early rows' key columns, `window_id`, `at_last`, and `number`, the revision.
        """

    def sessions(self, tables: Tables, after: Progress) -> pl.DataFrame:
        """Return all windows in the state, open or not: the key's columns, `window_id`."""


def key_columns(query: Query) -> list[str]:
    """Return the columns of a row's key, each once."""
    return list(dict.fromkeys(field_column(name) for name in query.key))


def unit_columns(query: Query) -> list[str]:
    """Return the column of PATTR, whose values have their own windows; empty: one unit."""
    return [] if query.window.pattr is None else [field_column(query.window.pattr)]


def route(query: Query, source: Source) -> list[str]:
    """Return the columns whose hash selects a record's shard.

    Windows over rows, and windows that records define, belong to a unit, not to a key; and a shard
    needs all bounds for the keys that it closes.
    """
    if not query.window.traits.per_key:
        return unit_columns(query)
    attribute = source.ordered_by(query.window.attribute)
    promised = source.generator_of(attribute).progress_attr
    return key_columns(query) if promised is None else [field_column(promised)]


def dead_letters(query: Flow, data: pl.DataFrame, refused: Flags, partition: int) -> pl.DataFrame:
    """The dead letters of late records that no window took; none where they are dropped."""
    reason = query.late.letter
    if reason is None or not refused.any():
        return pl.DataFrame(schema=DEAD_LETTER_SCHEMA)
    late = data.filter(pl.Series(refused))
    return late.select(
        pl.lit(partition, dtype=pl.Int32).alias(PARTITION),
        OFFSET,
        query=pl.lit(query.name),
        reason=pl.lit(reason),
        **late_columns(query, late),
    )
