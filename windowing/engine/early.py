"""Early rows: the content of open windows so far, sent repeatedly until they close.

They are provisional. Unlike all other rows they depend on the boundaries of batches and on the wall
clock, which the caller passes; they have their own revisions, and no other row depends on them.
The state is what was sent: how many records a window had, and how often.

A row is due by the query's early policy, or because only silent lanes hold its window open. An open
session whose start moves becomes another window: a tombstone retracts the old one in the batch in
which it moves, regardless of the policy.

Source: SAMZA-552, "Early emission"; once per batch, silent lanes and tombstones are ours.
"""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from windowing.engine.columns import (
    ABSORBED_BY,
    AT_LAST,
    KEY,
    RECORDS,
    REVISION,
    WINDOW_ID,
    field_column,
)
from windowing.engine.having import SentRows
from windowing.engine.plan import extents
from windowing.engine.progress.reached import Progress
from windowing.engine.storage.frames import from_bytes, to_bytes
from windowing.engine.storage.state import StateStore
from windowing.engine.windows.part import MovesOpenWindows, ShowsOpenWindows, Tables
from windowing.model import Query

PREFIX = "early/"
_NEVER = 2**63 - 1


class EarlyState(msgspec.Struct, array_like=True):
    """The early rows that a query has sent so far.

    Attributes:
        period: the last period of the wall clock that was seen; None: none yet.
        shown: a frame as bytes: per open window its key, `window_id`, `shown` (records in its last
            early row) and `number` (of that row); for sessions also `at_last`, their last value in
            that row, including ended sessions that late records may still join.
    """

    period: int | None = None
    shown: bytes | None = None


class EarlyRows:
    """The early rows of one query in one shard.

    Args:
        query: the query; it may have an early policy.
        part: the shard part that gives the content of windows.
        sent: what is sent of the rows; None: all.
    """

    def __init__(self, query: Query, part: ShowsOpenWindows, sent: SentRows | None = None) -> None:
        self._query, self._policy, self._part, self._sent = query, query.early, part, sent
        self._sessions = part if isinstance(part, MovesOpenWindows) else None
        self._names = {name: field_column(name) for name in dict.fromkeys(query.key)}
        self._name = PREFIX + query.name

    def rows(
        self,
        store: StateStore,
        tables: Tables,
        after: Progress,
        wall_us: int | None,
        without_silent: Progress | None = None,
    ) -> pl.DataFrame:
        """Return the rows due in this batch; `revision` counts a window's early rows from 1.

        Tombstones come first.

        Args:
            tables: the query's state, before compaction.
            wall_us: the wall clock; None: unknown, so that only numbers of records count.
            without_silent: the progress without silent lanes; None: no lane is silent.
        """
        data = store.get(self._name)
        known = EarlyState() if data is None else msgspec.msgpack.decode(data, type=EarlyState)
        found = [self._tombstones(known, tables, after)]
        wanted = self._wanted(known, wall_us)
        if wanted is not None or without_silent is not None:
            found.append(self._due(known, tables, after, wanted, without_silent))
        store.put(self._name, msgspec.msgpack.encode(known))
        rows = [frame for frame in found if len(frame)]
        return pl.concat(rows) if rows else pl.DataFrame()

    def _due(
        self,
        known: EarlyState,
        tables: Tables,
        after: Progress,
        wanted: int | None,
        without_silent: Progress | None,
    ) -> pl.DataFrame:
        """Return rows of due open windows with new records, and record them as shown."""
        rows = self._part.open(tables, after)
        counted = self._counted(rows, known)
        new = (counted[RECORDS] - counted["shown"]).to_numpy()
        due = pl.Series(new >= (_NEVER if wanted is None else wanted))
        if without_silent is not None:
            ends = np.array([end for _, end in extents(self._query, rows)], dtype=object)
            due |= pl.Series((ends <= without_silent.of(counted)) & (new > 0), dtype=pl.Boolean)
        counted = counted.with_columns(
            shown=pl.when(due).then(RECORDS).otherwise("shown"),
            number=pl.col("number") + due.cast(pl.Int64),
        )
        if self._sessions is not None:
            last = pl.when(due).then(rows[AT_LAST]).otherwise(AT_LAST)
            counted = counted.with_columns(last.alias(AT_LAST))
            # Like tombstones: the frames of all shards are concatenated.
            rows = rows.with_columns(pl.lit(None, dtype=pl.Int64).alias(ABSORBED_BY))
        sent = due
        if self._sent is not None:
            holds, held = self._sent.holds(rows), counted["held"]
            sent = due & (holds | held)
            rows = self._sent.marked(rows, holds)
            counted = counted.with_columns(held=pl.when(due).then(holds).otherwise(held))
        noted = counted.drop(RECORDS)
        if self._sessions is not None and known.shown is not None:
            closed = self._closed(self._sessions.sessions(tables, after), noted, known.shown)
            noted = pl.concat([noted, closed.select(noted.columns)])
        known.shown = to_bytes(noted)
        return rows.with_columns(counted["number"].alias(REVISION)).filter(sent)

    def _closed(self, sessions: pl.DataFrame, opened: pl.DataFrame, shown: bytes) -> pl.DataFrame:
        """Return sessions that were shown and have ended: a late record may reopen them."""
        before, names = from_bytes(shown).filter(pl.col("number") > 0), sessions.columns
        ended = before.join(opened, on=names, how="anti", nulls_equal=True)
        return ended.join(sessions, on=names, how="semi", nulls_equal=True)

    def _tombstones(self, known: EarlyState, tables: Tables, after: Progress) -> pl.DataFrame:
        if self._sessions is None or known.shown is None:
            return pl.DataFrame()
        before = from_bytes(known.shown)
        moved = self._sessions.moved(tables, after, before.filter(pl.col("number") > 0))
        if not len(moved):
            return moved
        windows = self._windows(moved)
        left = before.join(windows, on=windows.columns, how="anti", nulls_equal=True)
        known.shown = to_bytes(left)
        return moved

    def _wanted(self, known: EarlyState, wall_us: int | None) -> int | None:
        """Return how many new records make a row due now; None: none is due."""
        if self._policy is None:
            return None
        if self._policy.records is not None:
            return self._policy.records
        if wall_us is None or self._policy.every_us is None:
            return None
        period, before = wall_us // self._policy.every_us, known.period
        known.period = period if before is None else max(before, period)
        return 1 if before is not None and period > before else None

    def _counted(self, rows: pl.DataFrame, known: EarlyState) -> pl.DataFrame:
        """Return the window of each row, in order, with what was shown of it before."""
        windows = self._windows(rows)
        counts = pl.DataFrame([rows[RECORDS]])
        if known.shown is None:
            zero, none = pl.lit(0, dtype=pl.Int64), pl.lit(None, dtype=pl.Int64)
            fresh = pl.concat([windows, counts], how="horizontal")
            fresh = fresh.with_columns(shown=zero, number=zero)
            if self._sent is not None:
                fresh = fresh.with_columns(held=pl.lit(value=False))
            return fresh if self._sessions is None else fresh.with_columns(none.alias(AT_LAST))
        joined = windows.join(
            from_bytes(known.shown),
            on=windows.columns,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        joined = pl.concat([joined, counts], how="horizontal")
        if self._sent is not None:
            joined = joined.with_columns(pl.col("held").fill_null(value=False))
        return joined.with_columns(pl.col("shown", "number").fill_null(0))

    def _windows(self, rows: pl.DataFrame) -> pl.DataFrame:
        ids = rows.select(WINDOW_ID)
        if not self._names:
            return ids
        keys = rows[KEY].struct.unnest().rename(self._names)
        return pl.concat([keys, ids], how="horizontal")
