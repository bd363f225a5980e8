"""End a command on a signal: within two seconds, leaving nothing running.

The command runs in a child of this process. SIGINT, SIGTERM and SIGHUP all reach it as SIGTERM,
which raises `Interrupted`, so that it cleans up as after an error; its children
get SIGTERM at the same time. (SIGINT itself is of no use there: polars takes it over in a way that
leaves a waiting interpreter asleep.) This process only waits, so blocking code in the child cannot
stop its countdown; it kills whatever is left after the grace period. Daemons of the stack live in
separate sessions and are not affected: a command that starts them registers their clean-up with
`when_interrupted`.
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
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Final, NoReturn

import psutil

from slackwater.console import FAILED, complain

GRACE_S: Final = 1.0
"""From the signal to SIGKILL, in seconds."""
_LAST_S: Final = 0.3  # for killed processes to disappear
_INTERRUPTED: Final = 128 + signal.SIGTERM  # an exit code by the shells' convention
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DIES_WITH_PARENT, _ADOPTS_ORPHANS = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER of prctl(2)
_at_once: list[Callable[[], None]] = []
_interrupted = Event()
_last_will: list[int] = []  # pipe to the parent, for actions that it must take for the child


class Interrupted(BaseException):
    """A signal asked the command to end; not an `Exception`, so that no handler catches it."""


def is_interrupted() -> bool:
    """Whether this process was asked to end; errors since then are consequences."""
    return _interrupted.is_set()


@contextlib.contextmanager
def when_interrupted(act: Callable[[], None]) -> Iterator[None]:
    """Register an action for the moment a signal comes, before any clean-up.

    Args:
        act: a fast action that copes with half-finished work.
    """
    _at_once.append(act)
    try:
        yield
    finally:
        _at_once.remove(act)


def kill_afterwards(state_dir: Path) -> None:
    """Have the parent kill the stack of this folder if the command is interrupted.

    Only the parent can: it outlives every process that might still start another one.
    """
    for pipe in _last_will:
        os.write(pipe, os.fsencode(state_dir) + b"\0")


def supervised(command: Callable[[], int]) -> NoReturn:
    """Run a command in a child process, and exit as it does.

    Args:
        command: returns an exit code; does not catch `Interrupted`.
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
        signal.signal(number, _pass)  # the parent gets it too
    if os.getppid() != parent:
        os._exit(128 + signal.SIGTERM)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)  # one may have come since the fork
        code = command()
        came_to_end[0] = 1
        sys.exit(code)
    except Interrupted:
        # Clean-up is done; do not wait for threads or workers.
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(_INTERRUPTED)


def _pass(number: int, frame: FrameType | None) -> None:
    """Handle a signal by doing nothing; unlike ignoring it, children do not inherit this."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, _pass)  # clean-up must not be interrupted
    _interrupted.set()
    for act in _at_once:
        with contextlib.suppress(Exception):
            act()
    _silence()
    _end_offspring(signal.SIGTERM)
    raise Interrupted


def _silence() -> None:
    """Silence stderr, except for the parent.

    Compiled libraries print their own stack trace when an import inside them is interrupted.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _await(child: int, heard: set[signal.Signals], came_to_end: mmap.mmap) -> int:
    """Wait for the child, forward signals to it, and kill it if it does not end in time."""
    received, killed_at_s = 0, float("inf")
    while True:
        left_s = max(0.0, killed_at_s - time.monotonic())
        got = signal.sigtimedwait(heard, min(left_s, 3600.0))
        if got is not None and got.si_signo in _ENDING and not received:
            received, killed_at_s = got.si_signo, time.monotonic() + GRACE_S
            os.kill(child, signal.SIGTERM)
        elif time.monotonic() >= killed_at_s:
            _end_offspring(signal.SIGKILL)
        code = _reaped(child)
        if code is not None:
            if received and code in (_INTERRUPTED, 128 + signal.SIGKILL):
                complain(f"ended by {signal.Signals(received).name}")
                return 128 + received
            if not received and (code > 128 or not came_to_end[0]):
                return _said_of_sudden_end(code)
            return code


def _said_of_sudden_end(code: int) -> int:
    """Report that the child ended in the middle of its work; return the exit code."""
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
    """Kill the stacks that the child has named, and wait briefly until they are gone."""
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
    """Send a signal to all descendants of this process in the same session."""
    session = os.getsid(0)
    signalled = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(process.pid) == session:
                process.send_signal(number)
                signalled.append(process)
    return signalled


def _prctl(option: int, value: int) -> None:
    """Set an attribute of this process in the kernel; only on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


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
