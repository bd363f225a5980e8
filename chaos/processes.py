"""Child processes of this machine: calls made by forked ones, and some that ignore Ctrl-C."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

Answer = TypeVar("Answer")


class ProcessLost(RuntimeError):
    """A process that ended before its part was evaluated."""

    exit_code = 1


def by_processes(jobs: int, calls: int, function: Callable[[int], Answer]) -> Iterator[Answer]:
    """Yield what a function returns for 0, 1, 2, … in order; few answers wait to be taken.

    Args:
        function: anything that memory has now; its answers can be pickled.

    Raises:
        ProcessLost: a process was killed.
    """
    _Worker.function = staticmethod(function)
    waiting = deque[Future[Any]]()
    context = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(jobs, context, _Worker.prepare) as pool:
            for number in range(calls):
                waiting.append(pool.submit(_Worker.answer, number))
                if len(waiting) > 2 * jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    except BrokenProcessPool as error:
        msg = (
            "a process that evaluated a part was killed, as happens when memory runs out: give "
            "less --memory or fewer --jobs"
        )
        raise ProcessLost(msg) from error


class _Worker:
    """What a forked process inherits."""

    function: ClassVar[Callable[[int], Any]]

    @staticmethod
    def prepare() -> None:
        """Let SIGTERM end this process; a handler of the parent's would act for the parent."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    @classmethod
    def answer(cls, number: int) -> Any:
        """Make a call."""
        return cls.function(number)


@contextmanager
def deaf_children() -> Iterator[None]:
    """Start child processes with SIGINT blocked; their parent ends them.

    Otherwise each would print a stack trace wherever it happens to be, even while it starts.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
