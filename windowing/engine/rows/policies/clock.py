"""Clocks of policy windows, deadlines by key, and the thread that acts on the machine's clock.

Source: Gedik 2014, sections 4.1.4 (the window lock) and 4.2 (time policies). Each call by a
`Driver` first takes one reading and does what is due by it. So a run is a function of its calls and
their readings: repeated on a `ManualClock`, it gives the same output.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, ParamSpec, Protocol, Self, TypeVar

from windowing.engine.rows.policies.events import Handler, Key, WindowEvent


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


_P = ParamSpec("_P")
_T = TypeVar("_T")


class WallClock(ManualClock):
    """The machine's clock, as far as its windows have acted on it; it never goes back.

    Args:
        source: of nanoseconds, such as `time.time_ns`; the engine itself reads no clock.

    Attributes:
        now_us: the last reading on which windows acted, in microseconds since 1970.
    """

    def __init__(self, source: Callable[[], int]) -> None:
        self._source = source
        super().__init__(source() // 1000)

    def read(self) -> int:
        """Return the time, in microseconds."""
        return max(self.now_us, self._source() // 1000)

    def timing(self, handler: Handler) -> Handler:
        """Return a handler whose duration counts, so that a slow one delays what is due meanwhile.

        Ticks that it overruns follow at once, or are lost in the library's profile (`spl.md`, D6).
        Other handlers take no time, and only then is a replay exact.
        """

        def timed(event: WindowEvent) -> None:
            began_us = self._source()
            handler(event)
            self.now_us += max(0, self._source() - began_us) // 1000

        return timed


class Drivable(Protocol):
    """What a driver drives: a window or an operator."""

    def tick(self, now_us: int, /) -> None:
        """Do everything due up to an instant."""

    def locked(self) -> AbstractContextManager[Any]:
        """Return its lock."""


class Driver:
    """The link between a window or operator and the machine's clock.

    `with Driver(window, clock) as driver:` starts the second thread, which only time policies need;
    a program with its own loop calls `poll` in it instead.

    Args:
        driven: the window or operator; from then on, call it only by `call`.
        every_s: how often the thread looks at the clock, in seconds.
    """

    def __init__(self, driven: Drivable, clock: WallClock, *, every_s: float = 0.01) -> None:
        self._driven, self._clock, self._every_s = driven, clock, every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="window-clock", daemon=True)
        self._failure: Exception | None = None

    def call(self, action: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Do what is due, then call a method of the window, under its lock.

        Raises:
            Exception: what a handler raised, here or meanwhile in the thread.
        """
        with self._driven.locked():
            self.poll()
            return action(*args, **kwargs)

    def poll(self) -> int:
        """Do what is due, and return the reading, in microseconds.

        Raises:
            Exception: what a handler raised, here or meanwhile in the thread.
        """
        self._raise_failure()
        with self._driven.locked():
            now_us = self._clock.read()
            self._driven.tick(now_us)
            return now_us

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        if error is None:
            self._raise_failure()

    def _run(self) -> None:
        while not self._ended.wait(self._every_s):
            try:
                self.poll()
            except Exception as error:
                self._failure = error
                return

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
