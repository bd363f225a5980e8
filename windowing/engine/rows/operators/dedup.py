"""Dedup: a tuple is sent only if no earlier tuple of its window equals it.

Source: the policies and events of Gedik 2014; the operator is ours, after SPL's DeDuplicate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from windowing.engine.rows.operators.clause import open_sliding
from windowing.engine.rows.operators.operator import Operator, Sent, Tuple
from windowing.engine.rows.policies import Clock, Event, Marker, Profile, Storage, WindowEvent
from windowing.engine.rows.policies.events import Key
from windowing.engine.rows.policies.window import hashable
from windowing.model.operators.models import check_dedup
from windowing.model.windows.policy import WindowClause


class Dedup(Operator):
    """The operator that sends each tuple once.

    All tuples enter the window, sent or not, so that a duplicate renews the memory of the first.

    Args:
        window: sliding, with the trigger count(1): the tuples to compare with.
        by: the attributes that are equal in duplicates.
        send: receives the output.
        profile: the rules to follow.
        clock: the operator's clock.
        storage: of the tuples.

    Raises:
        OperatorError: the configuration is not in the operator's model.
    """

    def __init__(
        self,
        window: WindowClause,
        by: Sequence[str],
        send: Callable[[Sent], None],
        *,
        profile: Profile = Profile.paper,
        clock: Clock | None = None,
        storage: Storage | None = None,
    ) -> None:
        super().__init__(send)
        check_dedup(window, by)
        self._by = tuple(by)
        self._stored: Counter[tuple[Key, tuple[Any, ...]]] = Counter()
        self._newest: Tuple | None = None
        self._window = open_sliding(window, profile, clock, storage)
        self._window.on(Event.after_insert, self._store)
        self._window.on(Event.after_evict, self._evict)
        self._window.on(Event.trigger, self._send_first)
        self._window.on(Event.partition_eviction, self._drop_victims)

    def insert(self, row: Tuple, port: int = 0) -> bool:
        """Process a tuple."""
        self._newest = row
        self._window.insert(row)
        return True

    def punctuate(self, marker: Marker, port: int = 0) -> None:
        """Ignore punctuations."""

    def tick(self, now_us: int) -> None:
        """Do everything due up to an instant of the clock."""
        self._window.advance(now_us)

    def next_due_us(self) -> int | None:
        """Return an instant before which nothing is due by the clock; None: nothing ever is."""
        return self._window.next_due_us()

    def locked(self) -> AbstractContextManager[Any]:
        """Return the window's lock."""
        return self._window.locked()

    def _same(self, key: Key, row: Tuple) -> tuple[Key, tuple[Any, ...]]:
        return key, tuple(hashable(row[name]) for name in self._by)

    def _store(self, event: WindowEvent) -> None:
        self._stored[self._same(event.key, event.row)] += 1

    def _evict(self, event: WindowEvent) -> None:
        same = self._same(event.key, event.row)
        self._stored[same] -= 1
        if not self._stored[same]:
            del self._stored[same]

    def _send_first(self, event: WindowEvent) -> None:
        newest = self._newest
        if newest is not None and self._stored[self._same(event.key, newest)] <= 1:
            self._emit(newest)

    def _drop_victims(self, event: WindowEvent) -> None:
        for key in event.victims:
            for row in self._window.rows(key) or ():
                self._stored.pop(self._same(key, row), None)

    def snapshot(self) -> dict[str, Any]:
        """Return the state of the window, from which all else follows."""
        return {"window": self._window.snapshot()}

    def restore(self, snapshot: dict[str, Any], *, timers: bool = False) -> None:
        """Restore a snapshot."""
        self._window.restore(snapshot["window"], timers=timers)
        self._stored = Counter(self._same(key, row) for key, rows in self._window for row in rows)
