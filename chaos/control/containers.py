"""Control of a stack in containers, through a Docker engine and signals inside containers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docker.errors import APIError
from docker.models.containers import Container

from chaos.control.node_control import EFFECT_S, STOPPED_S, await_that, gone, mount_refusal
from chaos.errors import FaultDidNotApply, Unsupported
from infra.containers.stack import ContainerStack
from infra.errors import InfraError
from infra.process import ProcessId
from infra.spark_processes import ClusterProcess

_INSIDE: Final = ("python", "-m", "infra.images.inside")
_PROBE: Final = "probe-of-mounts"


@dataclass(frozen=True)
class ContainerProcess(ProcessId):
    """A process in a container, or the container as a whole.

    Attributes:
        whole: whether this is the whole container. `pid` is then its first process, in this
            machine's numbering; otherwise it is the process in the container's numbering.
    """

    container: str = ""
    whole: bool = False


@dataclass(frozen=True)
class ContainerNodeControl:
    """Kills, pauses and disconnects containers; signals processes inside them."""

    stack: ContainerStack

    def daemon(self, name: str) -> ContainerProcess:
        """Return the container, identified by the pid of its first process."""
        state = self._container(name).attrs["State"]
        if not state["Running"]:
            msg = f"container {name} does not run: it is {state['Status']}"
            raise FaultDidNotApply(msg)
        return ContainerProcess(int(state["Pid"]), 0.0, name, whole=True)

    def children(self, name: str) -> list[ClusterProcess]:
        """Return the processes in the container, as seen from inside."""
        try:
            status = self._container(name).attrs["State"]["Status"]
        except InfraError:  # another kind of stack has it
            return []
        if status != "running":
            return []
        found = []
        for line in self._inside(name, "list").splitlines():
            fields = json.loads(line)
            process = ContainerProcess(**fields.pop("process"), container=name)
            found.append(ClusterProcess(**fields, process=process))
        return found

    def kill(self, process: ProcessId) -> str:
        """Send SIGKILL to the container or the process, and wait until it is gone."""
        victim = _contained(process)
        if not victim.whole:
            self._signal(victim, signal.SIGKILL)
        elif self.is_alive(victim):
            self._container(victim.container).kill()
        else:
            raise gone(victim)
        if not await_that(lambda: not self.is_alive(victim), EFFECT_S):
            msg = f"{_name(victim)} is alive {EFFECT_S:.0f} s after SIGKILL"
            raise FaultDidNotApply(msg)
        return f"{_name(victim)} is gone"

    def stop(self, process: ProcessId) -> str:
        """Send SIGTERM to the container, and wait until it is gone; SIGKILL is no clean stop."""
        victim = _contained(process)
        if not self.is_alive(victim):
            raise gone(victim)
        self._container(victim.container).stop(timeout=int(STOPPED_S))
        return f"{_name(victim)} is gone"

    def pause(self, process: ProcessId) -> str:
        """Freeze the container, or SIGSTOP the process in it, and wait until it is paused."""
        victim = _contained(process)
        if not victim.whole:
            self._signal(victim, signal.SIGSTOP)
        elif self.is_alive(victim):
            self._container(victim.container).pause()
        else:
            raise gone(victim)
        if not await_that(lambda: self.is_paused(victim), EFFECT_S):
            msg = f"{_name(victim)} is not paused after {EFFECT_S:.0f} s"
            raise FaultDidNotApply(msg)
        return f"{_name(victim)} is paused"

    def resume(self, process: ProcessId) -> str:
        """Resume the container or the process."""
        victim = _contained(process)
        if not self.is_alive(victim):
            return f"{_name(victim)} is gone meanwhile"
        if victim.whole:
            self._container(victim.container).unpause()
        else:
            self._signal(victim, signal.SIGCONT)
        return f"{_name(victim)} goes on"

    def is_alive(self, process: ProcessId) -> bool:
        """Whether it exists, by the container's state or by pid and start time inside."""
        victim = _contained(process)
        state = self._container(victim.container).attrs["State"]
        if victim.whole:
            return bool(state["Running"]) and int(state["Pid"]) == victim.pid
        return bool(state["Running"]) and self._state(victim) != "gone"

    def is_paused(self, process: ProcessId) -> bool:
        """Whether it is paused, by the state of the container or of the process inside."""
        victim = _contained(process)
        if victim.whole:
            return bool(self._container(victim.container).attrs["State"]["Paused"])
        return self._state(victim) == "stopped"

    def disconnect(self, name: str) -> str:
        """Disconnect the container, and check that it has left the session's network."""
        self.daemon(name)
        self.stack.session.disconnect(name)
        if self.stack.session.is_connected(name):
            msg = f"container {name} is still on its network"
            raise FaultDidNotApply(msg)
        return f"container {name} is off its network"

    def reconnect(self, name: str) -> str:
        """Reconnect the container."""
        if self.stack.session.is_connected(name):
            return f"container {name} was never cut off"
        self.stack.session.connect(name)
        return f"container {name} is on its network again"

    def lose_packets(self, name: str, share: float) -> str:
        """Add an iptables rule in the container's own network."""
        drop = ("-m", "statistic", "--mode", "random", "--probability", str(share), "-j", "DROP")
        self._iptables(name, "-A", "INPUT", *drop)
        return f"container {name} loses {share:.0%} of what comes in"

    def restore_packets(self, name: str) -> int:
        """Delete the rule; return how many packets it dropped, by its counter."""
        listed = self._iptables(name, "-L", "INPUT", "-v", "-x", "-n").splitlines()
        dropped = sum(int(line.split()[0]) for line in listed if " DROP " in line)
        self._iptables(name, "-F", "INPUT")
        return dropped

    def mount_refusal(self, folder: Path) -> str:
        """Check by trying whether a file system mounted here shows in the containers."""
        if refusal := mount_refusal():
            return refusal
        probe = folder / _PROBE
        probe.mkdir(parents=True)
        try:
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", probe], check=True)
            try:
                (probe / "seen").touch()
                worker = self._container("spark-worker-1")
                code, _ = worker.exec_run(["test", "-e", str(probe / "seen")])
            finally:
                subprocess.run(["umount", probe], check=True)
        finally:
            probe.rmdir()
        return "" if code == 0 else "what this machine mounts does not show in the containers"

    def _container(self, name: str) -> Container:
        return self.stack.session.container(name)

    def _inside(self, name: str, *arguments: str) -> str:
        """Run the helper inside a container, and return what it prints.

        Raises:
            FaultDidNotApply: the container has ended, or the helper fails.
        """
        try:
            code, said = self._container(name).exec_run([*_INSIDE, *arguments])
        except APIError as error:  # it has ended in the meantime
            msg = f"container {name} cannot be looked into: {error.explanation}"
            raise FaultDidNotApply(msg) from error
        if code != 0:
            msg = f"container {name} cannot be looked into: {said.decode(errors='replace')[-200:]}"
            raise FaultDidNotApply(msg)
        return str(said.decode())

    def _signal(self, victim: ContainerProcess, number: signal.Signals) -> None:
        sent = self._inside(
            victim.container, "signal", str(int(number)), str(victim.pid), str(victim.started)
        )
        if sent.strip() != "sent":
            raise gone(victim)

    def _state(self, victim: ContainerProcess) -> str:
        return self._inside(victim.container, "state", str(victim.pid), str(victim.started)).strip()

    def _iptables(self, name: str, *arguments: str) -> str:
        """Run iptables in a container's network namespace, from outside.

        Raises:
            Unsupported: root, a tool or a kernel module is missing on this machine.
        """
        if os.geteuid() != 0 or not shutil.which("nsenter") or not shutil.which("iptables"):
            msg = "packets of a container can be dropped by root only, with nsenter and iptables"
            raise Unsupported(msg)
        pid = self.daemon(name).pid
        done = subprocess.run(
            ["nsenter", "--target", str(pid), "--net", "iptables", "--wait", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()
            msg = f"the kernel drops no packets here: {said[0] if said else 'iptables failed'}"
            raise Unsupported(msg)
        return done.stdout


def _contained(process: ProcessId) -> ContainerProcess:
    if not isinstance(process, ContainerProcess):
        msg = f"process {process.pid} does not run in a container"
        raise TypeError(msg)
    return process


def _name(victim: ContainerProcess) -> str:
    if victim.whole:
        return f"container {victim.container}"
    return f"pid {victim.pid} of container {victim.container}"
