"""What reaches the parts of a stack: signals on this machine, or a Docker engine's means.

Every call gives evidence, a sentence on what was seen to happen, or raises `FaultDidNotApply`.
The container side is `chaos.control.containers`.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import psutil

from chaos.errors import FaultDidNotApply, Unsupported
from infra import stack
from infra.errors import InfraError
from infra.layout import Layout
from infra.process import ProcessId, is_alive, send
from infra.spark_processes import ClusterProcess, cluster_processes

EFFECT_S: Final = 10.0
"""How long a kill or a pause may take to be seen."""

STOPPED_S: Final = 60.0
"""How long a daemon may take to end in good order."""

_POLL_S: Final = 0.05


class NodeControl(Protocol):
    """Ways to find and to hurt the daemons of a stack, and what they have started."""

    def daemon(self, name: str) -> ProcessId:
        """The process of a daemon; in a container, the container as a whole.

        Raises:
            FaultDidNotApply: it does not run.
        """

    def children(self, name: str) -> list[ClusterProcess]:
        """What a Spark worker has started and what runs of it; nothing where it does not run."""

    def kill(self, process: ProcessId) -> str:
        """End it at once, without a chance to tidy up.

        Raises:
            FaultDidNotApply: it was gone already, or it lives on.
        """

    def stop(self, process: ProcessId) -> str:
        """End it in good order.

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

    def is_alive(self, process: ProcessId) -> bool:
        """Whether this very process still runs, or could if it were not paused."""

    def is_paused(self, process: ProcessId) -> bool:
        """Whether this very process is paused."""

    def disconnect(self, name: str) -> str:
        """Take a daemon from the network.

        Raises:
            FaultDidNotApply: it does not run, or it is reached nevertheless.
            Unsupported: it has no network of its own.
        """

    def reconnect(self, name: str) -> str:
        """Put a daemon back on the network, under the names that it had."""

    def lose_packets(self, name: str, share: float) -> str:
        """Drop a share of what comes in for a daemon.

        Raises:
            FaultDidNotApply: it does not run.
            Unsupported: it has no network of its own, or the kernel lacks what that takes.
        """

    def restore_packets(self, name: str) -> int:
        """Let everything through again; gives how many packets were dropped."""

    def mount_refusal(self, folder: Path) -> str:
        """Why the job would not see a file system mounted below a folder; empty if it would."""


@dataclass(frozen=True)
class LocalNodeControl:
    """Signals to processes of this machine.

    Attributes:
        layout: where the stack has noted its processes.
    """

    layout: Layout

    def daemon(self, name: str) -> ProcessId:
        """What the stack has on record."""
        try:
            return stack.process_of(name, layout=self.layout)
        except InfraError as error:
            raise FaultDidNotApply(str(error)) from error

    def children(self, name: str) -> list[ClusterProcess]:
        """What is below the daemon in the tree of processes."""
        try:
            return cluster_processes([stack.process_of(name, layout=self.layout)])
        except InfraError:
            return []

    def kill(self, process: ProcessId) -> str:
        """SIGKILL, seen to be gone."""
        return self._end(process, signal.SIGKILL, EFFECT_S)

    def stop(self, process: ProcessId) -> str:
        """SIGTERM, seen to be gone."""
        return self._end(process, signal.SIGTERM, STOPPED_S)

    def _end(self, process: ProcessId, by: signal.Signals, bound_s: float) -> str:
        if not send(process, by):
            raise gone(process)
        if not await_that(lambda: not is_alive(process), bound_s):
            msg = f"process {process.pid} is alive {bound_s:.0f} s after {by.name}"
            raise FaultDidNotApply(msg)
        return f"pid {process.pid} is gone"

    def pause(self, process: ProcessId) -> str:
        """SIGSTOP, seen to be stopped."""
        if not send(process, signal.SIGSTOP):
            raise gone(process)
        if not await_that(lambda: self.is_paused(process), EFFECT_S):
            msg = f"process {process.pid} is not stopped {EFFECT_S:.0f} s after SIGSTOP"
            raise FaultDidNotApply(msg)
        return f"pid {process.pid} is stopped"

    def resume(self, process: ProcessId) -> str:
        """SIGCONT."""
        if send(process, signal.SIGCONT):
            return f"pid {process.pid} goes on"
        return f"pid {process.pid} is gone meanwhile"

    def is_alive(self, process: ProcessId) -> bool:
        """By pid and start time."""
        return is_alive(process)

    def is_paused(self, process: ProcessId) -> bool:
        """Stopped by a signal."""
        try:
            status = psutil.Process(process.pid).status()
            return status == psutil.STATUS_STOPPED and is_alive(process)
        except psutil.NoSuchProcess:
            return False

    def disconnect(self, name: str) -> str:
        """Not here."""
        raise _shared_network(name)

    def reconnect(self, name: str) -> str:
        """It has never left."""
        return f"{name} was never cut off"

    def lose_packets(self, name: str, share: float) -> str:
        """Not here."""
        raise _shared_network(name)

    def restore_packets(self, name: str) -> int:
        """None was dropped."""
        return 0

    def mount_refusal(self, folder: Path) -> str:
        """The job runs beside us, and sees what we mount, if we may."""
        return mount_refusal()


def mount_refusal() -> str:
    """Why this process may not mount a file system; empty if it may."""
    return "" if os.geteuid() == 0 else "a small file system can be mounted by root only"


def await_that(condition: Callable[[], bool], bound_s: float) -> bool:
    """Wait until a condition holds, `bound_s` seconds at the most; say whether it does."""
    until_s = time.monotonic() + bound_s
    while not condition():
        if time.monotonic() > until_s:
            return False
        time.sleep(_POLL_S)
    return True


def gone(process: ProcessId) -> FaultDidNotApply:
    """What to raise where there is nothing left to hurt."""
    return FaultDidNotApply(f"process {process.pid} had ended before the fault")


def _shared_network(name: str) -> Unsupported:
    return Unsupported(
        f"{name} shares this machine's network: only a container can be taken from its own "
        "(--stack containers)"
    )
