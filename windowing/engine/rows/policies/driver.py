"""Windows by the machine's clock: readings of it, and the thread that acts on them.

Source: Gedik 2014, sections 4.1.4 (the window lock) and 4.2 (time policies). Each call first takes
one reading and does what is due by it. So a run is a function of its calls and their readings:
repeated on a `ManualClock`, it gives the same output.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, ParamSpec, Protocol, Self, TypeVar

from windowing.engine.rows.policies.clock import ManualClock
from windowing.engine.rows.policies.events import Handler, WindowEvent

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


class Timed(Protocol):
    """What a driver drives: a window or an operator."""

    def tick(self, now_us: int, /) -> None:
        """Do everything due up to an instant."""

    def locked(self) -> AbstractContextManager[Any]:
        """Return its lock."""


class Driver:
    """The link between a window or operator and the machine's clock.

    `with Driver(window, clock) as driver:` starts the second thread, which only time policies need;
    a program with a loop of its own calls `poll` in it instead.

    Args:
        driven: the window or operator; from then on, call it only by `call`.
        clock: its clock.
        every_s: how often the thread looks at the clock, in seconds.
    """

    def __init__(self, driven: Timed, clock: WallClock, *, every_s: float = 0.01) -> None:
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
