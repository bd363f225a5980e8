"""Windows that follow from a record alone: time and row windows, aligned at their starts.

Source: SAMZA-552, "Window operator: the life of a message"; lateness by lane, and late epochs of
progress instead of the wall clock, are ours (ADR 1 and 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from windowing.engine.rows.flows import keys
from windowing.engine.rows.flows.axis import AxisRecord
from windowing.engine.rows.flows.operator import FlowOperator, LaneRecord
from windowing.engine.rows.flows.partial import Partial, fold_of, lift, merge, places_of
from windowing.engine.rows.flows.parts import AggregatorParts
from windowing.engine.rows.flows.stores import (
    UNTIL_TICK,
    DueIndex,
    DueWindow,
    StoredWindow,
    WindowStore,
)
from windowing.engine.storage.state import StateStore
from windowing.model.flow import Periods, StreamFlow
from windowing.model.record import Place, Progress, WindowRow, place_of
from windowing.model.windows.traits import Ends
from windowing.model.windows.window import Window


def starts_of(window: Window, at: int) -> range:
    """Return the starts of the windows that hold an instant or a rank; empty in a gap."""
    first = (at - window.origin - _size(window)) // window.slide + 1
    if window.traits.ends is Ends.ROWS:
        first = max(first, 0)
    last = (at - window.origin) // window.slide
    step = window.slide
    return range(window.origin + first * step, window.origin + last * step + 1, step)


def _size(window: Window) -> int:
    assert window.range_ is not None  # noqa: S101 - landmark windows are refused
    return window.range_


def release_of(before: Progress, every: int) -> int:
    """Return the first epoch boundary after a lane's progress."""
    assert math.isfinite(before)  # noqa: S101 - an ended lane has no more records
    return (int(before) // every + 1) * every


class WindowOperator(FlowOperator[WindowRow]):
    """Windows per key.

    Args:
        late_by: show late records by these periods of the clock, not by epochs of progress.
        past_end: close a window over rows by the row after its last.
    """

    def __init__(
        self,
        flow: StreamFlow,
        store: StateStore,
        send: Callable[[WindowRow], object],
        progress: Progress,
        *,
        late_by: Periods | None = None,
        past_end: bool = False,
    ) -> None:
        super().__init__(store, send, progress)
        self._window, self._size = flow.window, _size(flow.window)
        self.parts = AggregatorParts(flow, store, past_end=past_end)
        self._every, self._late_by, self._fold = flow.late.every_us, late_by, fold_of(flow)
        self._retention = flow.retention_us
        self.store = WindowStore(store, keys.window_start)
        self._due_rows = DueIndex(store)

    def insert(self, row: LaneRecord, port: int = 0) -> bool:
        """Add a record to the windows that take it; one in a gap is not refused."""
        record = row.record
        found = self.parts.axis.arrive(record, row.before)
        if found is True:
            # It has no number yet; as a message it is stored by its time.
            self.parts.keep(record, place_of(record.ts, record.lane, record.offset))
        return found if isinstance(found, bool) else self._enter(found)

    def _due(self) -> list[WindowRow]:
        """Number the rows that can be; then yield the rows that progress has reached."""
        for positioned in self.parts.axis.released(self._progress):
            self._enter(positioned)
        rows: list[WindowRow] = []
        for due in self._due_rows.pop(self.parts.axis.progress(self._progress)):
            held = self._get(due.start, due.key)
            if due.late:
                self._admit(held, held.waiting.pop(due.instant))
                rows += self.parts.rows.late(held)
            else:
                rows += self.parts.rows.full(held)
            self.store.put(held)
        return rows

    def _ticked(self, now_us: int) -> list[WindowRow]:
        """Yield late rows by the wall clock, then early ones, each by start, end and key."""
        at, late_by = self.parts.axis.progress(self._progress), self._late_by
        rows: list[WindowRow] = []
        if late_by is not None and self.parts.ticks.due("late", now_us, late_by):
            for held in self.store.scan():
                if held.waiting and held.end <= at:
                    self._admit(held, held.waiting.pop(UNTIL_TICK))
                    rows += self.parts.rows.late(held)
                    self.store.put(held)
        wanted = self.parts.early_due(now_us)
        if wanted is not None:
            for held in self.store.scan():
                if held.news >= wanted and held.end > at:
                    rows += self.parts.rows.early(held)
                    self.store.put(held)
        return rows

    def purge(self) -> None:
        """Delete windows past their retention without waiting late records."""
        if self._retention is None:
            return
        at = self.parts.axis.progress(self._progress)
        for held in self.store.scan():
            if held.end + self._retention > at:
                break
            if not held.waiting:
                self.store.delete(held)
                self._forget_messages(held)

    def entries(self) -> int:
        """The number of stored windows, messages and waiting records."""
        messages = len(self.parts.messages()) if self.parts.holistic else 0
        return sum(1 + held.pending for held in self.store.scan()) + messages

    def held_back(self) -> int:
        """The number of records not in a result yet, counted once per window."""
        return self.parts.axis.waiting() + sum(held.pending for held in self.store.scan())

    def _enter(self, positioned: AxisRecord) -> bool:
        record, before = positioned.record, positioned.before
        group = self.parts.group(record)
        partial = lift(self._fold, positioned.place, record.lane, record.value)
        starts = starts_of(self._window, positioned.at)
        taken = False
        for start in starts:
            end = start + self._size
            if before < end:
                held = self.store.get(start, group) or StoredWindow(start, end, group)
                self._admit(held, partial)
                held.news += 1
                self._due_rows.add(DueWindow(end, False, start, end, group))
            elif self._accepts_late(before, end):
                held = self.store.get(start, group) or StoredWindow(start, end, group)
                self._wait(held, partial, before)
            else:
                continue
            self.store.put(held)
            taken = True
        if taken:
            self.parts.keep(record, positioned.place)
        else:
            self.parts.forget(group, positioned.place)
        return taken or not starts

    def _accepts_late(self, before: Progress, end: int) -> bool:
        kept = self._retention is None or before < end + self._retention
        return self._every is not None and kept

    def _wait(self, held: StoredWindow, partial: Partial, before: Progress) -> None:
        release = UNTIL_TICK
        if self._late_by is None:
            assert self._every is not None  # noqa: S101 - otherwise no late record is taken
            release = release_of(before, self._every)
            self._due_rows.add(DueWindow(release, True, held.start, held.end, held.key))
        known = held.waiting.get(release, Partial())
        held.waiting[release] = merge(self._fold, known, partial)

    def _admit(self, held: StoredWindow, partial: Partial) -> None:
        held.content = merge(self._fold, held.content, partial)
        held.fresh = merge(self._fold, held.fresh, partial)

    def _get(self, start: int, key: str | None) -> StoredWindow:
        held = self.store.get(start, key)
        assert held is not None  # noqa: S101 - a window for which a row is due is never purged
        return held

    def _forget_messages(self, gone: StoredWindow) -> None:
        """Delete the records of a purged window that no stored window holds."""
        if not self.parts.holistic:
            return
        places = places_of(gone.content)
        for start in self._neighbours(places, gone):
            held = self.store.get(start, gone.key)
            if held is not None:
                places -= places_of(held.content).union(*map(places_of, held.waiting.values()))
        for place in places:
            self.parts.forget(gone.key, place)

    def _neighbours(self, places: Sequence[Place] | set[Place], gone: StoredWindow) -> list[int]:
        """Return the starts of the other windows that may hold any of these records."""
        if not places:
            return []
        step = self._window.slide
        reach = (self._size - 1) // step
        return [gone.start + k * step for k in range(-reach, reach + 1) if k]
