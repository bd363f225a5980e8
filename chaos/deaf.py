"""Child processes that ignore Ctrl-C, which is meant for their parent."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


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
