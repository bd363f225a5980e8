"""Bounds on how long things take, in seconds of one machine, scaled to the one that runs the tests.

What must not grow beyond all bounds is tested for it; but seconds judge the machine as much as the
code, and the slowest machines are several times slower than a developer's. So the same small piece
of work is timed beside what is judged, and the bound grows with it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

REFERENCE_S = 0.010
"""What `_work` takes on an idle core of the machine for which bounds are written, in seconds."""


def _work() -> int:
    return sum(len(str(number)) for number in range(100_000))


def slowness(clock: Callable[[], float] = time.process_time) -> float:
    """How many times slower than that machine this one is now, by a clock; at least 1."""
    took_s = []
    for _ in range(3):
        began_s = clock()
        _work()
        took_s.append(clock() - began_s)
    return max(1.0, min(took_s) / REFERENCE_S)


@contextmanager
def within(seconds: float, clock: Callable[[], float] = time.process_time) -> Iterator[None]:
    """Fails if what is done takes longer than a bound, by the process's own time or another clock.

    Args:
        seconds: the bound; several times what it takes, since it is to find what runs away.
        clock: a function that gives seconds.
    """
    began_s = clock()
    try:
        yield
    finally:  # a refusal must come soon, too
        took_s = clock() - began_s
        # How slow the machine is, is asked only where it matters: that takes a while itself.
        allowed_s = seconds if took_s < seconds else seconds * slowness(clock)
        assert took_s < allowed_s, f"took {took_s:.1f} s of {allowed_s:.1f} s"
