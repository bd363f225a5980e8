"""The stack that a run has started for itself: when the run is interrupted, it is killed.

There is no time to stop it, and nobody needs what it holds.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slackwater.ending import kill_afterwards, when_interrupted


@contextmanager
def killed_when_interrupted(state_dir: Path) -> Iterator[None]:
    """Kill the stack as soon as a signal comes, and what is started of it since then at the end.

    Args:
        state_dir: the folder of the stack's state; its processes are marked with it.
    """
    from infra import process

    def at_once() -> None:
        for one in process.marked(state_dir):
            process.send(one, signal.SIGKILL)

    kill_afterwards(state_dir)
    with when_interrupted(at_once):
        yield
