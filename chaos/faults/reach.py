"""What reaches a process: signals on this machine now, containers later.

Every call gives evidence, a sentence on what was seen to happen, or raises `FaultDidNotApply`.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Final, Protocol

import psutil

from chaos.faults.fault import FaultDidNotApply
from infra import stack
from infra.errors import InfraError
from infra.layout import Layout
from infra.process import ProcessId, is_alive, send

_EFFECT_S: Final = 10.0
_POLL_S: Final = 0.05


class Reach(Protocol):
    """Ways to hurt a process."""

    def kill(self, process: ProcessId) -> str:
        """End it at once, without a chance to tidy up.

        Raises:
            FaultDidNotApply: it was gone already, or it lives on.
        """

    def pause(self, process: ProcessId) -> str:
        """Stop it from running; it keeps its memory and its connections.

        Raises:
            FaultDidNotApply: it was gone already, or it runs on.
        """

    def resume(self, process: ProcessId) -> str:
        """Let a paused process run again; one that is gone stays gone."""


class LocalReach:
    """Signals to processes of this machine."""

    def kill(self, process: ProcessId) -> str:
        """SIGKILL, seen to be gone."""
        if not send(process, signal.SIGKILL):
            raise _gone(process)
        if not await_that(lambda: not is_alive(process), _EFFECT_S):
            msg = f"process {process.pid} is alive {_EFFECT_S:.0f} s after SIGKILL"
            raise FaultDidNotApply(msg)
        return f"pid {process.pid} is gone"

    def pause(self, process: ProcessId) -> str:
        """SIGSTOP, seen to be stopped."""
        if not send(process, signal.SIGSTOP):
            raise _gone(process)
        if not await_that(lambda: is_paused(process), _EFFECT_S):
            msg = f"process {process.pid} is not stopped {_EFFECT_S:.0f} s after SIGSTOP"
            raise FaultDidNotApply(msg)
        return f"pid {process.pid} is stopped"

    def resume(self, process: ProcessId) -> str:
        """SIGCONT."""
        if send(process, signal.SIGCONT):
            return f"pid {process.pid} goes on"
        return f"pid {process.pid} is gone meanwhile"


def daemon_process(name: str, layout: Layout) -> ProcessId:
    """The process of a daemon of the stack.

    Raises:
        FaultDidNotApply: it does not run.
    """
    try:
        return stack.process_of(name, layout=layout)
    except InfraError as error:
        raise FaultDidNotApply(str(error)) from error


def is_paused(process: ProcessId) -> bool:
    """Whether this very process is stopped by a signal."""
    try:
        return is_alive(process) and psutil.Process(process.pid).status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return False


def await_that(condition: Callable[[], bool], bound_s: float) -> bool:
    """Wait until a condition holds, `bound_s` seconds at the most; say whether it does."""
    until_s = time.monotonic() + bound_s
    while not condition():
        if time.monotonic() > until_s:
            return False
        time.sleep(_POLL_S)
    return True


def _gone(process: ProcessId) -> FaultDidNotApply:
    return FaultDidNotApply(f"process {process.pid} had ended before the fault")
