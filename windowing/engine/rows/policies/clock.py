"""Clocks of policy windows, and deadlines by key."""

from __future__ import annotations

import heapq
from typing import Protocol

from windowing.engine.rows.policies.events import Key


class Clock(Protocol):
    """What a window takes for the time."""

    @property
    def now_us(self) -> int:
        """The time, in microseconds."""

    def wait_until(self, instant_us: int) -> None:
        """Come to an instant at which something is due; one that has passed changes nothing."""


class ManualClock:
    """A clock that stands still until it is moved: whoever owns a window says how late it is.

    In production that is the machine's clock, told by `advance` before each tuple and now and then;
    in a replay, the time of the records; in a test, any.

    Attributes:
        now_us: the time; a handler that takes time moves it on.
    """

    def __init__(self, now_us: int = 0) -> None:
        self.now_us = now_us

    def wait_until(self, instant_us: int) -> None:
        """Move on to an instant."""
        self.now_us = max(self.now_us, instant_us)


class Deadlines:
    """The earliest of many instants, one for each key."""

    def __init__(self) -> None:
        self.due_us: dict[Key, int] = {}
        # Entries that `due_us` no longer says are passed over when they come up.
        self._heap: list[tuple[int, int, Key]] = []
        self._entries = 0

    def put(self, key: Key, due_us: int) -> None:
        """Set the deadline of a key."""
        if self.due_us.get(key) != due_us:
            self.due_us[key] = due_us
            self._entries += 1
            heapq.heappush(self._heap, (due_us, self._entries, key))

    def drop(self, key: Key) -> None:
        """Forget the deadline of a key, if it has one."""
        self.due_us.pop(key, None)

    def earliest(self) -> tuple[int, Key] | None:
        """The first deadline, and whose it is; None: there is none."""
        while self._heap:
            due_us, _, key = self._heap[0]
            if self.due_us.get(key) == due_us:
                return due_us, key
            heapq.heappop(self._heap)
        return None

    def clear(self) -> None:
        """Forget all."""
        self.due_us.clear()
        self._heap.clear()
