"""Locks of files and folders. The system releases them with their process, however it ends.

Standard library only: the set-up and Airflow's environment use them too.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_LOOK_S = 0.2


class Locked(Exception):
    """Somebody else has kept a lock for too long."""


def try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; false: somebody else has the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def locked(
    path: Path, *, wait_s: float | None = None, waits: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Hold a lock; threads of one process keep each other out, too.

    Args:
        path: a folder; or a file, which is created with its folder, and stays.
        wait_s: how long to wait for whoever has the lock; None: as long as it takes.
        waits: called once if somebody has it.

    Raises:
        Locked: the wait was too long.
        OSError: there can be no such file.
    """
    if path.is_dir():
        flags = os.O_RDONLY
    else:
        flags = os.O_WRONLY | os.O_CREAT
        path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)
    try:
        if not try_lock(descriptor):
            waits()
            _wait(descriptor, path, wait_s)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int, path: Path, wait_s: float | None) -> None:
    if wait_s is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    until = time.monotonic() + wait_s
    while not try_lock(descriptor):
        if time.monotonic() > until:
            raise Locked(path)
        time.sleep(_LOOK_S)
