"""The stack that a run has started for itself, which an interrupted run kills.

There is no time to stop it properly, and its data is not needed.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slackwater.ending import kill_afterwards, when_interrupted


@contextmanager
def killed_when_interrupted(state_dir: Path) -> Iterator[None]:
    """Kill the stack as soon as a signal comes, and at the end whatever was started since.

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
