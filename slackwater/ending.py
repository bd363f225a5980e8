"""How a command ends when it is told to: within two seconds, and nothing of it runs on.

The command runs in a child of this process. SIGINT, SIGTERM and SIGHUP all reach it as SIGTERM,
which raises `Interrupted`, so that what it began is cleared away as after an error; what it started
gets SIGTERM at the same time. (SIGINT itself is no use there: polars takes it over, in a way that
leaves a waiting interpreter asleep.) This process only waits: code that blocks, whatever it is,
cannot keep it from counting, and what is left after the time of grace is killed. Daemons of the
stack live in sessions of their own, and are not touched: a command that starts them says what is to
become of them, by `when_interrupted`.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Final, NoReturn

import psutil

from slackwater.console import FAILED, complain

GRACE_S: Final = 1.0
"""From the signal to SIGKILL, in seconds."""

_LAST_S: Final = 0.3  # for killed processes to be gone
_INTERRUPTED: Final = 128 + signal.SIGTERM  # an exit code, as shells have it
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DIES_WITH_PARENT, _ADOPTS_ORPHANS = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER of prctl(2)
_at_once: list[Callable[[], None]] = []
_told = Event()
_last_will: list[int] = []  # where a child writes what its parent is to do for it


class Interrupted(BaseException):
    """A signal told the command to end; no error, so that nothing takes it for one."""


def is_interrupted() -> bool:
    """Whether this process was told to end: errors since then follow from that."""
    return _told.is_set()


@contextlib.contextmanager
def when_interrupted(act: Callable[[], None]) -> Iterator[None]:
    """Have something done as soon as a signal comes, before anything is cleared away.

    Args:
        act: must be quick, and may find anything half done.
    """
    _at_once.append(act)
    try:
        yield
    finally:
        _at_once.remove(act)


def kill_afterwards(state_dir: Path) -> None:
    """Have the parent kill the stack of this folder if the command is interrupted.

    Only the parent can: it is there when nobody is left who might start another process.
    """
    for pipe in _last_will:
        os.write(pipe, os.fsencode(state_dir) + b"\0")


def supervised(command: Callable[[], int]) -> NoReturn:
    """Run a command in a child, and end as it ends.

    Args:
        command: gives an exit code; passes `Interrupted` on.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    heard = {*_ENDING, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    _prctl(_ADOPTS_ORPHANS, 1)
    parent, (reading, writing) = os.getpid(), os.pipe()
    came_to_end = mmap.mmap(-1, 1)  # shared: the child writes what the parent reads
    child = os.fork()
    if child:
        os.close(writing)
        code = _await(child, heard, came_to_end)
        psutil.wait_procs(_end_offspring(signal.SIGKILL), timeout=_LAST_S)
        if code > 128:
            _execute_will(reading)
        os._exit(code)
    os.close(reading)
    _last_will.append(writing)
    _prctl(_DIES_WITH_PARENT, signal.SIGTERM)
    signal.signal(signal.SIGTERM, _interrupt)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _pass)  # the parent hears it, too
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if os.getppid() != parent:
        os._exit(128 + signal.SIGTERM)
    try:
        code = command()
        came_to_end[0] = 1
        sys.exit(code)
    except Interrupted:
        # What had to be cleared away is; what waits for threads or workers would wait in vain.
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(_INTERRUPTED)


def _pass(number: int, frame: FrameType | None) -> None:
    """Hear a signal and do nothing; unlike one that is ignored, it is not so for children."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, _pass)  # clearing away is not to be disturbed
    _told.set()
    for act in _at_once:
        with contextlib.suppress(Exception):
            act()
    _silence()
    _end_offspring(signal.SIGTERM)
    raise Interrupted


def _silence() -> None:
    """Let nothing more be said on stderr but by the parent.

    Compiled libraries print a stack trace of their own when an import inside them is interrupted.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _await(child: int, heard: set[signal.Signals], came_to_end: mmap.mmap) -> int:
    """Wait for the child, pass signals on to it, kill it if it does not heed them in time."""
    told, killed_at_s = 0, float("inf")
    while True:
        left_s = max(0.0, killed_at_s - time.monotonic())
        got = signal.sigtimedwait(heard, min(left_s, 3600.0))
        if got is not None and got.si_signo in _ENDING and not told:
            told, killed_at_s = got.si_signo, time.monotonic() + GRACE_S
            os.kill(child, signal.SIGTERM)
        elif time.monotonic() >= killed_at_s:
            _end_offspring(signal.SIGKILL)
        code = _reaped(child)
        if code is not None:
            if told and code in (_INTERRUPTED, 128 + signal.SIGKILL):
                complain(f"ended by {signal.Signals(told).name}")
                return 128 + told
            if not told and (code > 128 or not came_to_end[0]):
                return _said_of_sudden_end(code)
            return code


def _said_of_sudden_end(code: int) -> int:
    """Say that the child ended in the middle of its work; gives the exit code that it deserves."""
    if code > 128:
        why = ": was there memory left?" if code - 128 == signal.SIGKILL else ""
        complain(f"ended by {signal.Signals(code - 128).name}{why}")
        return code
    complain(
        f"the command was ended with exit code {code} by code that it called: "
        "a pipeline's class, and what it imports, must not end the process (os._exit)"
    )
    return FAILED


def _execute_will(pipe: int) -> None:
    """Kill the stacks that the child has named, and wait a moment for them to be gone."""
    from infra import process

    os.set_blocking(pipe, False)
    with contextlib.suppress(BlockingIOError):
        for state_dir in os.read(pipe, 65536).split(b"\0")[:-1]:
            until = time.monotonic() + _LAST_S
            while time.monotonic() < until:
                left = process.marked(Path(os.fsdecode(state_dir)))
                if not left:
                    break
                for one in left:
                    process.send(one, signal.SIGKILL)


def _reaped(child: int) -> int | None:
    """The exit code of the child, if it has ended; orphans that we adopted are buried, too."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            if pid == 0:
                return None
    return None


def _end_offspring(number: int) -> list[psutil.Process]:
    """Send a signal to all that descends from this process and shares its session."""
    session = os.getsid(0)
    told = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(process.pid) == session:
                process.send_signal(number)
                told.append(process)
    return told


def _prctl(option: int, value: int) -> None:
    """Ask the kernel for something about this process; other systems than Linux have no such."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
