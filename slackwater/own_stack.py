"""The stack that a run has started for itself: when the run is interrupted, it is killed.

There is no time to stop it, and nobody needs what it holds.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from slackwater.ending import is_interrupted, when_interrupted

_GONE_S: Final = 0.4
_LOOK_S: Final = 0.05


@contextmanager
def killed_when_interrupted(state_dir: Path) -> Iterator[None]:
    """Kill the stack as soon as a signal comes, and start nothing more.

    Args:
        state_dir: the folder of the stack's state; its processes are marked with it.
    """
    from infra import process

    def at_once() -> None:
        process.start_no_more()
        _kill_all(state_dir)
        # A start that was under way may still bring one.
        threading.Thread(target=_keep_killing, args=(state_dir,), daemon=True).start()

    with when_interrupted(at_once):
        try:
            yield
        finally:
            if is_interrupted():
                _kill_all(state_dir)


def _kill_all(state_dir: Path) -> None:
    """Kill what carries the stack's mark, and wait a moment for all of it to be gone."""
    from infra import process

    until = time.monotonic() + _GONE_S
    while (left := process.marked(state_dir)) and time.monotonic() < until:
        for one in left:
            process.send(one, signal.SIGKILL)
        time.sleep(_LOOK_S)


def _keep_killing(state_dir: Path) -> None:
    while True:
        _kill_all(state_dir)
        time.sleep(_LOOK_S)
