"""Control of a stack's nodes, with signals to local processes or through a Docker engine.

Every call returns evidence, a sentence about the observed effect, or raises `FaultDidNotApply`.
`chaos.control.containers` does the same for containers.
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
"""How long a kill or a pause may take to show, in seconds."""

STOPPED_S: Final = 60.0
"""How long a daemon may take to shut down cleanly, in seconds."""

_POLL_S: Final = 0.05


class NodeControl(Protocol):
    """Finds and controls the daemons of a stack and the processes that they started."""

    def daemon(self, name: str) -> ProcessId:
        """Return the process of a daemon, or its whole container.

        Raises:
            FaultDidNotApply: the daemon is not running.
        """

    def children(self, name: str) -> list[ClusterProcess]:
        """Return the running processes that a Spark worker started; none if it is not running."""

    def kill(self, process: ProcessId) -> str:
        """Kill a process at once, without a chance to clean up.

        Raises:
            FaultDidNotApply: the process had already ended, or survived.
        """

    def stop(self, process: ProcessId) -> str:
        """Shut a process down cleanly.

        Raises:
            FaultDidNotApply: the process had already ended, or survived.
        """

    def pause(self, process: ProcessId) -> str:
        """Suspend a process, which keeps its memory and its connections.

        Raises:
            FaultDidNotApply: the process had already ended, or still runs.
        """

    def resume(self, process: ProcessId) -> str:
        """Resume a paused process; do nothing if it has ended."""

    def is_alive(self, process: ProcessId) -> bool:
        """Whether this very process exists, running or paused."""

    def is_paused(self, process: ProcessId) -> bool:
        """Whether this very process is paused."""

    def disconnect(self, name: str) -> str:
        """Disconnect a daemon from the network.

        Raises:
            FaultDidNotApply: the daemon is not running, or is still reachable.
            Unsupported: it has no separate network.
        """

    def reconnect(self, name: str) -> str:
        """Reconnect a daemon to the network, under the names that it had."""

    def lose_packets(self, name: str, share: float) -> str:
        """Drop a share of a daemon's incoming packets.

        Raises:
            FaultDidNotApply: the daemon is not running.
            Unsupported: it has no separate network, or the kernel lacks the module.
        """

    def restore_packets(self, name: str) -> int:
        """Stop dropping packets; return how many were dropped."""

    def mount_refusal(self, folder: Path) -> str:
        """Say why the job would not see a file system mounted below a folder; empty if it would."""


@dataclass(frozen=True)
class LocalNodeControl:
    """Signals to processes of this machine."""

    layout: Layout

    def daemon(self, name: str) -> ProcessId:
        """Return the process that the stack recorded."""
        try:
            return stack.process_of(name, layout=self.layout)
        except InfraError as error:
            raise FaultDidNotApply(str(error)) from error

    def children(self, name: str) -> list[ClusterProcess]:
        """Return the daemon's descendants in the process tree."""
        try:
            return cluster_processes([stack.process_of(name, layout=self.layout)])
        except InfraError:
            return []

    def kill(self, process: ProcessId) -> str:
        """Send SIGKILL, and wait until the process is gone."""
        return self._end(process, signal.SIGKILL, EFFECT_S)

    def stop(self, process: ProcessId) -> str:
        """Send SIGTERM, and wait until the process is gone."""
        return self._end(process, signal.SIGTERM, STOPPED_S)

    def _end(self, process: ProcessId, by: signal.Signals, bound_s: float) -> str:
        if not send(process, by):
            raise gone(process)
        if not await_that(lambda: not is_alive(process), bound_s):
            msg = f"process {process.pid} is alive {bound_s:.0f} s after {by.name}"
            raise FaultDidNotApply(msg)
        return f"pid {process.pid} is gone"

    def pause(self, process: ProcessId) -> str:
        """Send SIGSTOP, and wait until the process is stopped."""
        if not send(process, signal.SIGSTOP):
            raise gone(process)
        if not await_that(lambda: self.is_paused(process), EFFECT_S):
            msg = f"process {process.pid} is not stopped {EFFECT_S:.0f} s after SIGSTOP"
            raise FaultDidNotApply(msg)
        return f"pid {process.pid} is stopped"

    def resume(self, process: ProcessId) -> str:
        """Send SIGCONT."""
        if send(process, signal.SIGCONT):
            return f"pid {process.pid} goes on"
        return f"pid {process.pid} is gone meanwhile"

    def is_alive(self, process: ProcessId) -> bool:
        """Whether the process exists, by pid and start time."""
        return is_alive(process)

    def is_paused(self, process: ProcessId) -> bool:
        """Whether a signal has stopped the process."""
        try:
            status = psutil.Process(process.pid).status()
            return status == psutil.STATUS_STOPPED and is_alive(process)
        except psutil.NoSuchProcess:
            return False

    def disconnect(self, name: str) -> str:
        """Raise `Unsupported`: local processes share this machine's network."""
        raise _shared_network(name)

    def reconnect(self, name: str) -> str:
        """Do nothing: a local process was never disconnected."""
        return f"{name} was never cut off"

    def lose_packets(self, name: str, share: float) -> str:
        """Raise `Unsupported`: local processes share this machine's network."""
        raise _shared_network(name)

    def restore_packets(self, name: str) -> int:
        """Return 0: no packets were dropped."""
        return 0

    def mount_refusal(self, folder: Path) -> str:
        """Check for root: a local job sees whatever this process mounts."""
        return mount_refusal()


def mount_refusal() -> str:
    """Say why this process may not mount a file system; empty if it may."""
    return "" if os.geteuid() == 0 else "a small file system can be mounted by root only"


def await_that(condition: Callable[[], bool], bound_s: float) -> bool:
    """Wait up to `bound_s` seconds until a condition holds; return whether it does."""
    until_s = time.monotonic() + bound_s
    while not condition():
        if time.monotonic() > until_s:
            return False
        time.sleep(_POLL_S)
    return True


def gone(process: ProcessId) -> FaultDidNotApply:
    """Return the error for a process that ended before the fault was injected."""
    return FaultDidNotApply(f"process {process.pid} had ended before the fault")


def _shared_network(name: str) -> Unsupported:
    return Unsupported(
        f"{name} shares this machine's network: only a container can be taken from its own "
        "(--stack containers)"
    )
