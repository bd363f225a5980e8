"""Early rows: what open windows hold so far, sent again and again until they close.

They are provisional. Unlike all other rows they depend on where batches are cut and on the wall
clock, which the caller tells; they have revisions of their own, and nothing that is sent later
depends on them. What was sent is remembered: how many records a window had, and how often.

A row is due by the query's early policy, or because silent lanes alone hold its window open. An
open session whose start moves is another window: what was shown of the old one is taken back by a
tombstone, at the batch at which it moves, whatever the policy says.

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
from windowing.engine.frames import from_bytes, to_bytes
from windowing.engine.progress.reached import Progress
from windowing.engine.state import StateStore
from windowing.engine.windows.classes import extents
from windowing.engine.windows.part import MovesOpenWindows, ShowsOpenWindows, Tables
from windowing.model import Query

_PREFIX = "early/"
_NEVER = 2**63 - 1


class Remembered(msgspec.Struct, array_like=True):
    """What a query's early rows were so far.

    Attributes:
        period: the last period of the wall clock that was looked at; None: there was none.
        shown: an Arrow stream: of each open window its key, `window_id`, `shown` (records of its
            last early row) and `number` (of that row); of sessions also `at_last`, their last
            value in that row, and those that have ended too, while late records may join them.
    """

    period: int | None = None
    shown: bytes | None = None


class EarlyRows:
    """The early rows of one query in one shard.

    Args:
        query: the query; it may have an early policy.
        part: knows what windows hold.
    """

    def __init__(self, query: Query, part: ShowsOpenWindows) -> None:
        self._query, self._policy, self._part = query, query.early, part
        self._sessions = part if isinstance(part, MovesOpenWindows) else None
        self._names = {name: field_column(name) for name in dict.fromkeys(query.key)}
        self._name = _PREFIX + query.name

    def rows(
        self,
        store: StateStore,
        tables: Tables,
        after: Progress,
        wall_us: int | None,
        without_silent: Progress | None = None,
    ) -> pl.DataFrame:
        """The rows that are due at this batch; `revision` counts a window's early rows from 1.

        Tombstones come first.

        Args:
            store: keeps what was sent.
            tables: the query's state, before any of it is let go.
            after: how far progress is.
            wall_us: the wall clock; None: nobody knows, and only numbers of records count.
            without_silent: how far it would be without the silent lanes; None: no lane is silent.
        """
        data = store.get(self._name)
        known = Remembered() if data is None else msgspec.msgpack.decode(data, type=Remembered)
        found = [self._tombstones(known, tables, after)]
        wanted = self._wanted(known, wall_us)
        if wanted is not None or without_silent is not None:
            found.append(self._due(known, tables, after, wanted, without_silent))
        store.put(self._name, msgspec.msgpack.encode(known))
        rows = [frame for frame in found if len(frame)]
        return pl.concat(rows) if rows else pl.DataFrame()

    def _due(
        self,
        known: Remembered,
        tables: Tables,
        after: Progress,
        wanted: int | None,
        without_silent: Progress | None,
    ) -> pl.DataFrame:
        """Rows of the open windows that are due and have new records; they are noted as shown."""
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
            # As tombstones have it: the frames of all shards are put together.
            rows = rows.with_columns(pl.lit(None, dtype=pl.Int64).alias(ABSORBED_BY))
        noted = counted.drop(RECORDS)
        if self._sessions is not None and known.shown is not None:
            closed = self._closed(self._sessions.sessions(tables, after), noted, known.shown)
            noted = pl.concat([noted, closed.select(noted.columns)])
        known.shown = to_bytes(noted)
        return rows.with_columns(counted["number"].alias(REVISION)).filter(due)

    def _closed(self, sessions: pl.DataFrame, opened: pl.DataFrame, shown: bytes) -> pl.DataFrame:
        """Sessions that were shown and have ended: a late record may open them again."""
        before, names = from_bytes(shown).filter(pl.col("number") > 0), sessions.columns
        ended = before.join(opened, on=names, how="anti", nulls_equal=True)
        return ended.join(sessions, on=names, how="semi", nulls_equal=True)

    def _tombstones(self, known: Remembered, tables: Tables, after: Progress) -> pl.DataFrame:
        """Of sessions that were shown and are part of another one now; they are forgotten."""
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

    def _wanted(self, known: Remembered, wall_us: int | None) -> int | None:
        """How many new records make a row due now; None: none is."""
        if self._policy is None:
            return None
        if self._policy.records is not None:
            return self._policy.records
        if wall_us is None or self._policy.every_us is None:
            return None
        period, before = wall_us // self._policy.every_us, known.period
        known.period = period if before is None else max(before, period)
        return 1 if before is not None and period > before else None

    def _counted(self, rows: pl.DataFrame, known: Remembered) -> pl.DataFrame:
        """Of each row, in their order, the window with what was shown of it before."""
        windows = self._windows(rows)
        counts = pl.DataFrame([rows[RECORDS]])
        if known.shown is None:
            zero, none = pl.lit(0, dtype=pl.Int64), pl.lit(None, dtype=pl.Int64)
            fresh = pl.concat([windows, counts], how="horizontal")
            fresh = fresh.with_columns(shown=zero, number=zero)
            return fresh if self._sessions is None else fresh.with_columns(none.alias(AT_LAST))
        joined = windows.join(
            from_bytes(known.shown),
            on=windows.columns,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        joined = pl.concat([joined, counts], how="horizontal")
        return joined.with_columns(pl.col("shown", "number").fill_null(0))

    def _windows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """What names each row's window: its key and its id."""
        ids = rows.select(WINDOW_ID)
        if not self._names:
            return ids
        keys = rows[KEY].struct.unnest().rename(self._names)
        return pl.concat([keys, ids], how="horizontal")
