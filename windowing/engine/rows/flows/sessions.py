"""Sessions: windows whose bounds the records determine.

Two records of a key are in one session if a chain of distances below the gap connects them. A late
record joins at its release and may merge sessions; a start that a row has shown, and that is no
longer any session's start, gets a tombstone.

Source: SAMZA-552, "Session window: dynamic window"; merging, tombstones and the order of what
happens at one instant are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from windowing.engine.rows.flows import keys
from windowing.engine.rows.flows.operator import FlowOperator, LaneRecord
from windowing.engine.rows.flows.partial import Partial, fold_of, lift, merge, places_of
from windowing.engine.rows.flows.parts import AggregatorParts
from windowing.engine.rows.flows.stores import DueIndex, DueWindow, StoredWindow, WindowStore
from windowing.engine.rows.flows.windows import release_of
from windowing.engine.storage.state import StateStore
from windowing.model.flow import StreamFlow
from windowing.model.record import Progress, WindowRow

_LATE = "late/"


class _Late(NamedTuple):
    """A late record waiting for its release.

    Attributes:
        release: the instant at which it joins.
        at: its value on the axis.
    """

    release: int
    at: int
    key: str | None
    partial: Partial


class SessionOperator(FlowOperator[WindowRow]):
    """Sessions per key."""

    def __init__(
        self,
        flow: StreamFlow,
        store: StateStore,
        send: Callable[[WindowRow], object],
        progress: Progress,
    ) -> None:
        super().__init__(store, send, progress)
        assert flow.window.range_ is not None  # noqa: S101 - every session has one
        self._gap, self._gaps = flow.window.range_, dict(flow.window.gaps)
        by_rows = flow.window.traits.counts_arrivals
        self.parts = AggregatorParts(flow, store, "eq_offset" if by_rows else "session_ts_offset")
        self._every, self._fold = flow.late.every_us, fold_of(flow)
        self._retention = flow.retention_us
        # Early rows by time count all new records; those by number count on-time ones.
        self._by_ticks = flow.early is not None and flow.early.every_us is not None
        self.store = WindowStore(store, lambda start, key: keys.session_start(key, start))
        self._due_rows = DueIndex(store)
        # Starts that rows have shown and that a record of this call has absorbed.
        self._absorbed: list[StoredWindow] = []

    def insert(self, row: LaneRecord, port: int = 0) -> bool:
        """Add a record to its session, or store it until its release."""
        record = row.record
        found = self.parts.axis.arrive(record, row.before)
        if isinstance(found, bool):
            return found
        key, partial = (
            self.parts.group(record),
            lift(self._fold, found.place, record.lane, record.value),
        )
        if found.at >= found.before:
            self._join(key, found.at, partial, news=1)
        elif self._accepts_late(found.before, found.at, key):
            assert self._every is not None  # noqa: S101 - otherwise no late record is taken
            release = release_of(found.before, self._every)
            late = _Late(release, found.at, key, partial)
            name = keys.i64(release) + keys.place(record.lane, record.offset)
            self._state.put(_LATE + name.hex(), msgspec.msgpack.encode(late))
        else:
            return False
        self.parts.keep(record, found.place)
        return True

    def _due(self) -> list[WindowRow]:
        at = self.parts.axis.progress(self._progress)
        rows: list[WindowRow] = []
        while (instant := self._next_instant()) is not None and instant <= at:
            for due in list(self._due_rows.pop(instant)):
                rows += self._shown(due, closing=True)
            for name, late in self._waiting():
                if late.release > instant:
                    break
                self._state.delete(name)
                self._join(late.key, late.at, late.partial, news=0)
            rows += self._tombstones(late=True)
            reopened = sorted(self._due_rows.pop(instant), key=_order)
            for due in reopened:
                rows += self._shown(due, closing=False)
        return rows

    def _ticked(self, now_us: int) -> list[WindowRow]:
        """Yield tombstones of provisional starts, then early rows of the open sessions."""
        rows = self._tombstones(late=False)
        wanted = self.parts.early_due(now_us)
        if wanted is None:
            return rows
        at = self.parts.axis.progress(self._progress)
        for held in sorted(self.store.scan(), key=lambda held: held.order):
            new = held.fresh.records if self._by_ticks else held.news
            if held.end > at and new >= wanted:
                rows += self.parts.rows.early(held)
                self.store.put(held)
        return rows

    def purge(self) -> None:
        """Delete sessions that accepted records can no longer reach."""
        if self._retention is None:
            return
        at = self.parts.axis.progress(self._progress)
        waiting = [late for _, late in self._waiting()]
        for held in self.store.scan():
            gap = self._gap_of(held.key)
            near = any(
                late.key == held.key and held.start - gap < late.at < held.end for late in waiting
            )
            if at >= held.end + gap + self._retention and not near:
                self.store.delete(held)
                if self.parts.holistic:
                    for place in places_of(held.content):
                        self.parts.forget(held.key, place)

    def entries(self) -> int:
        """The number of stored sessions, messages and waiting records."""
        messages = len(self.parts.messages()) if self.parts.holistic else 0
        return sum(1 for _ in self.store.scan()) + self.held_back() + messages

    def held_back(self) -> int:
        """The number of late records waiting for their release."""
        return sum(1 for _ in self._waiting())

    def _accepts_late(self, before: Progress, at: int, key: str | None) -> bool:
        reach = at + self._gap_of(key)
        kept = self._retention is None or before < reach + self._retention
        return self._every is not None and kept

    def _gap_of(self, key: str | None) -> int:
        return self._gap if key is None else self._gaps.get(key, self._gap)

    def _join(self, key: str | None, at: int, partial: Partial, news: int) -> None:
        """Merge a record with every session that it touches, and schedule a row of the result."""
        gap = self._gap_of(key)
        touched = [s for s in self._of(key) if s.start - gap < at < s.end]
        start = min([at, *(s.start for s in touched)])
        end = max([at + gap, *(s.end for s in touched)])
        merged = StoredWindow(start, end, key, partial, partial, news)
        for session in touched:
            self.store.delete(session)
            self._due_rows.remove(_closing(session))
            merged.content = merge(self._fold, merged.content, session.content)
            same = session.start == start
            # The surviving session has not shown what the absorbed one had.
            new = session.fresh if same else session.content
            merged.fresh = merge(self._fold, merged.fresh, new)
            merged.news += session.news
            if same:
                merged.revision, merged.early = session.revision, session.early
                merged.shown, merged.shown_end = session.shown, session.shown_end
            elif session.revision >= 0 or session.early:
                self._absorbed.append(session)
        self.store.put(merged)
        self._due_rows.add(_closing(merged))

    def _of(self, key: str | None) -> Iterable[StoredWindow]:
        return self.store.scan(keys.key(key))

    def _shown(self, due: DueWindow, *, closing: bool) -> list[WindowRow]:
        held = self.store.get(due.start, due.key)
        assert held is not None  # noqa: S101 - a session that changed is never purged
        first = closing and held.revision < 0
        rows = self.parts.rows.full(held) if first else self.parts.rows.late(held)
        self.store.put(held)
        return rows

    def _tombstones(self, *, late: bool) -> list[WindowRow]:
        """Yield tombstones of absorbed starts, of full and late rows or only early ones."""
        chosen = [held for held in self._absorbed if (held.revision >= 0) == late]
        self._absorbed = [held for held in self._absorbed if (held.revision >= 0) != late]
        rows: list[WindowRow] = []
        for held in sorted(chosen, key=lambda held: (held.start, held.shown_end, held.order)):
            into = next(s for s in self._of(held.key) if s.start <= held.start < s.end)
            rows += self.parts.rows.tombstone(held, into.start)
        return rows

    def _next_instant(self) -> int | None:
        release = next((late.release for _, late in self._waiting()), None)
        return min((x for x in (self._due_rows.first(), release) if x is not None), default=None)

    def _waiting(self) -> Iterable[tuple[str, _Late]]:
        found = self._state.scan(_LATE)
        return ((name, msgspec.msgpack.decode(data, type=_Late)) for name, data in found)


def _closing(session: StoredWindow) -> DueWindow:
    return DueWindow(session.end, False, session.start, session.end, session.key)


def _order(due: DueWindow) -> tuple[int, int, bytes]:
    return due.start, due.end, keys.key(due.key)
