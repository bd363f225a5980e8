"""Clocks of policy windows, and deadlines by key."""

from __future__ import annotations

import heapq
from typing import Protocol

from windowing.engine.rows.policies.events import Key


class Clock(Protocol):
    """A window's clock."""

    @property
    def now_us(self) -> int:
        """The time, in microseconds."""

    def wait_until(self, instant_us: int) -> None:
        """Advance to an instant at which something is due; a past one is ignored."""


class ManualClock:
    """A clock that moves only when its owner advances it.

    A replay passes the time of the records to `advance`; a test, any. See also `WallClock`.

    Attributes:
        now_us: the time; a handler that takes time advances it.
    """

    def __init__(self, now_us: int = 0) -> None:
        self.now_us = now_us

    def wait_until(self, instant_us: int) -> None:
        """Advance to an instant."""
        self.now_us = max(self.now_us, instant_us)


class Deadlines:
    """The earliest of many instants, one for each key."""

    def __init__(self) -> None:
        self.due_us: dict[Key, int] = {}
        self._ranks: dict[Key, int] = {}
        # Entries that differ from `due_us` and `_ranks` are stale, and skipped.
        self._heap: list[tuple[int, int, int, Key]] = []
        self._entries = 0

    def put(self, key: Key, due_us: int, rank: int | None = None) -> None:
        """Set the deadline of a key.

        Args:
            key: the key.
            due_us: the instant.
            rank: which of equal instants comes first; None: the one that was set first.
        """
        if self.due_us.get(key) != due_us or (rank is not None and self._ranks.get(key) != rank):
            self._entries += 1
            self.due_us[key] = due_us
            self._ranks[key] = self._entries if rank is None else rank
            # The number of the call keeps keys, which may have no order, from being compared.
            heapq.heappush(self._heap, (due_us, self._ranks[key], self._entries, key))

    def drop(self, key: Key) -> None:
        """Delete the deadline of a key, if it has one."""
        self.due_us.pop(key, None)
        self._ranks.pop(key, None)

    def earliest(self) -> tuple[int, Key] | None:
        """Return the first deadline and its key, or None."""
        while self._heap:
            due_us, rank, _, key = self._heap[0]
            if self.due_us.get(key) == due_us and self._ranks[key] == rank:
                return due_us, key
            heapq.heappop(self._heap)
        return None

    def clear(self) -> None:
        """Delete all deadlines."""
        self.due_us.clear()
        self._ranks.clear()
        self._heap.clear()
