"""Faults of the Spark cluster: executors, drivers, Python workers, worker daemons."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx
import psutil

from chaos.faults.fault import FaultDidNotApply, Scene
from chaos.faults.reach import LocalReach, await_that, daemon_process, is_paused
from infra import stack
from infra.cluster import ClusterProcess, Kind, cluster_processes
from infra.errors import InfraError
from infra.layout import Layout
from infra.process import ProcessId, descendants, is_alive

HEARTBEAT_S = 20.0
"""After so much silence an executor counts as lost, in seconds: the setting of `SETTINGS`."""

SETTINGS = {
    "spark.executor.heartbeatInterval": "2s",
    "spark.network.timeout": f"{HEARTBEAT_S:.0f}s",
    # How often silence is looked for; the default of a minute would hide what is measured.
    "spark.network.timeoutInterval": "2s",
}
"""Spark settings of a job that chaos shoots at."""

_WORKERS = ("spark-worker-1", "spark-worker-2")
_NOTICED_S = 60.0


def kill_executor(layout: Layout | None = None) -> tuple[str, str]:
    """SIGKILL the youngest executor of the cluster.

    Raises:
        FaultDidNotApply: there is no executor, or it is still there.
    """
    victim = _youngest("executor", layout)
    evidence = LocalReach().kill(victim.process)
    return "kill executor", f"executor {victim.executor}, {evidence}"


def kill_driver(layout: Layout | None = None) -> tuple[str, str]:
    """SIGKILL the driver of a job; under supervision the cluster starts it again.

    Raises:
        FaultDidNotApply: there is no driver, or it is still there.
    """
    victim = _youngest("driver", layout)
    return "kill driver", f"{victim.job}, {LocalReach().kill(victim.process)}"


@dataclass
class KillProcess:
    """SIGKILL one process of a kind; the cluster puts another in its place.

    Attributes:
        kind: executor, driver or Python worker.
    """

    kind: Kind
    hold_s: float = 0.0

    def inject(self, scene: Scene) -> str:
        """Kill one, drawn from all of them."""
        victim = _draw(self.kind, scene)
        return f"{_name(victim)}, {scene.reach.kill(victim.process)}"

    def heal(self, scene: Scene) -> str:
        """Spark does it."""
        return "left to the cluster"


@dataclass
class PauseExecutor:
    """SIGSTOP an executor until the driver has given it up, as a frozen machine would.

    Attributes:
        hold_s: how long it is paused at the least, in seconds.
    """

    hold_s: float = HEARTBEAT_S + 5.0
    _victim: ClusterProcess | None = field(default=None, init=False)
    _others: frozenset[ProcessId] = field(default=frozenset(), init=False)

    def inject(self, scene: Scene) -> str:
        """Pause one, drawn from all of them."""
        self._others = frozenset(one.process for one in _processes("executor", scene.layout))
        self._victim = _draw("executor", scene)
        return f"{_name(self._victim)}, {scene.reach.pause(self._victim.process)}"

    def heal(self, scene: Scene) -> str:
        """See it replaced, then let it go on if it is still there.

        Raises:
            FaultDidNotApply: no other executor took its place.
        """
        if self._victim is None:
            return "nothing was paused"
        victim = self._victim.process
        try:
            if not is_alive(victim) or self._replaced(scene):
                return f"given up by the cluster after {HEARTBEAT_S:.0f} s of silence"
            still = "stopped" if is_paused(victim) else "running"
            msg = f"{_name(self._victim)} was not given up: it is {still}, nothing replaced it"
            raise FaultDidNotApply(msg)
        finally:
            scene.reach.resume(victim)

    def _replaced(self, scene: Scene) -> bool:
        def another() -> bool:
            living = {one.process for one in _processes("executor", scene.layout)}
            return bool(living - self._others) or self._is_gone()

        return await_that(another, _NOTICED_S)

    def _is_gone(self) -> bool:
        return self._victim is not None and not is_alive(self._victim.process)


@dataclass
class KillSparkWorker:
    """SIGKILL a worker daemon; its executors, and a driver on it, go down with it.

    Attributes:
        hold_s: how long the cluster goes without it, in seconds.
    """

    hold_s: float = 5.0

    def inject(self, scene: Scene) -> str:
        """Kill one, drawn from those that have work, and see the master miss it."""
        daemon, process, offspring = self._victim(scene)
        gone = scene.reach.kill(process)
        if not await_that(lambda: _living_workers(scene) < len(_WORKERS), _NOTICED_S):
            msg = f"{daemon}, {gone}, but the master has not noticed for {_NOTICED_S:.0f} s"
            raise FaultDidNotApply(msg)
        return f"{daemon} with {offspring} processes, {gone}, and the master knows"

    def _victim(self, scene: Scene) -> tuple[str, ProcessId, int]:
        found = []
        for daemon in _WORKERS:
            process = daemon_process(daemon, scene.layout)
            family = cluster_processes([process])
            if any(one.kind == "executor" for one in family):
                found.append((daemon, process, len(family)))
        if not found:
            msg = "no worker runs an executor: is a job running?"
            raise FaultDidNotApply(msg)
        return scene.rng.choice(found)

    def heal(self, scene: Scene) -> str:
        """Start it again."""
        scene.restart("spark")
        return "worker started again"


def _living_workers(scene: Scene) -> int:
    try:
        with httpx.Client(timeout=2.0, trust_env=False) as client:
            page = client.get(f"{scene.endpoints.spark_ui}/json/").json()
    except (httpx.HTTPError, ValueError):
        return len(_WORKERS)  # no answer is no evidence
    return sum(1 for worker in page.get("workers", []) if worker["state"] == "ALIVE")


def drivers(scene: Scene) -> list[ClusterProcess]:
    """The driver processes that run on the cluster's workers."""
    return _processes("driver", scene.layout)


# --- victims -----------------------------------------------------------------------------------


def _processes(kind: Kind, layout: Layout | None) -> list[ClusterProcess]:
    workers = []
    for daemon in _WORKERS:
        try:
            workers.append(stack.process_of(daemon, layout=layout))
        except InfraError:
            continue
    found = [process for process in cluster_processes(workers) if process.kind == kind]
    return sorted(found, key=lambda one: (one.process.started, one.process.pid))


def _required(kind: Kind, layout: Layout | None) -> list[ClusterProcess]:
    found = _processes(kind, layout)
    if not found:
        msg = f"no {kind} runs under the Spark workers: is a job running?"
        raise FaultDidNotApply(msg)
    return found


def _youngest(kind: Kind, layout: Layout | None) -> ClusterProcess:
    return _required(kind, layout)[-1]


def _draw(kind: Kind, scene: Scene) -> ClusterProcess:
    """Draw a victim; of Python workers, one that is at work now if any is."""
    candidates = _required(kind, scene.layout)
    if kind == "python-worker":
        candidates = _at_work(candidates) or candidates
    return _choose(candidates, scene.rng)


def _choose(candidates: Sequence[ClusterProcess], rng: random.Random) -> ClusterProcess:
    return rng.choice(list(candidates))


def _at_work(candidates: Sequence[ClusterProcess]) -> list[ClusterProcess]:
    """Forked workers, not the daemon that forks them, which the system would not miss at once."""
    busy = []
    for one in candidates:
        try:
            running = psutil.Process(one.process.pid).status() == psutil.STATUS_RUNNING
        except psutil.NoSuchProcess:
            continue
        if not descendants([one.process]):
            busy.append((running, one))
    return [one for running, one in busy if running] or [one for _, one in busy]


def _name(victim: ClusterProcess) -> str:
    if victim.kind == "executor":
        return f"executor {victim.executor}"
    return victim.job if victim.kind == "driver" else "a Python worker"
