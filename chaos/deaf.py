"""Processes that do not hear the terminal: Ctrl-C is for the one that started them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deaf_children() -> Iterator[None]:
    """Have processes that are started here not hear Ctrl-C; their parent ends them.

    Each would print a stack trace, wherever it is, while it starts too.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
