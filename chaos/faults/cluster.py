"""Faults of the Spark cluster: executors, drivers, Python workers, worker daemons in turn."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field

from chaos.control.node_control import LocalNodeControl, NodeControl, await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext, NoCure
from chaos.faults.kind import STANDALONE, Suggestion, fault
from infra import drivers, spark
from infra.errors import NotReady
from infra.layout import Layout, default_layout
from infra.ports import answers
from infra.process import ProcessId
from infra.spark_processes import ClusterProcess, Kind
from infra.yarn import NODE_DAEMON

HEARTBEAT_S = 20.0
"""Time without heartbeats after which an executor counts as lost, in seconds; see `SETTINGS`."""

SETTINGS = {
    "spark.executor.heartbeatInterval": "2s",
    "spark.network.timeout": f"{HEARTBEAT_S:.0f}s",
    # Interval of the check for lost executors; the default of a minute would hide what we measure.
    "spark.network.timeoutInterval": "2s",
    # The JVMs live for minutes, too short for the second compiler to pay off.
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
"""Spark settings of a job under test."""

WORKERS = spark.WORKER_DAEMONS
"""The daemons that start drivers and executors."""

HOSTS = (*WORKERS, NODE_DAEMON)
"""The same, on every kind of stack."""

NOTICED_S = 60.0
"""How long the master may take to notice that a worker is gone or back, in seconds."""


def kill_executor(layout: Layout | None = None) -> tuple[str, str]:
    """SIGKILL the youngest executor of the cluster.

    Raises:
        FaultDidNotApply: there is no executor, or it survived.
    """
    nodes = LocalNodeControl(layout or default_layout())
    victim = _youngest("executor", nodes)
    evidence = nodes.kill(victim.process)
    return "kill executor", f"executor {victim.executor}, {evidence}"


def kill_driver(layout: Layout | None = None) -> tuple[str, str]:
    """SIGKILL the driver of a job; the cluster restarts a supervised one.

    Raises:
        FaultDidNotApply: there is no driver, or it survived.
    """
    nodes = LocalNodeControl(layout or default_layout())
    victim = _youngest("driver", nodes)
    return "kill driver", f"{victim.job}, {nodes.kill(victim.process)}"


@dataclass
class _KillProcess(NoCure):
    """SIGKILL of one process of a kind, which the cluster replaces."""

    _: KW_ONLY
    kind: Kind
    left = "left to the cluster"

    def inject(self, context: FaultContext) -> str:
        """Kill a process drawn at random."""
        victim = _draw(self.kind, context)
        return f"{_name(victim)}, {context.nodes.kill(victim.process)}"


fault(
    "kill_executor",
    back_s=23,
    suggestion=Suggestion(1, "tasks run again elsewhere, from the state of the batch before"),
)(_KillProcess, kind="executor")


@fault("pause_executor", takes=("hold",), back_s=29, ends="cure")
@dataclass
class PauseExecutor:
    """SIGSTOP of an executor until the driver gives it up, as if its machine had frozen."""

    hold_s: float = HEARTBEAT_S + 5.0
    _victim: ClusterProcess | None = field(default=None, init=False)
    _others: frozenset[ProcessId] = field(default=frozenset(), init=False)

    def inject(self, context: FaultContext) -> str:
        """Pause an executor drawn at random."""
        self._others = frozenset(one.process for one in processes("executor", context.nodes))
        self._victim = _draw("executor", context)
        return f"{_name(self._victim)}, {context.nodes.pause(self._victim.process)}"

    def heal(self, context: FaultContext) -> str:
        """Wait until the executor is replaced, then resume it if it still exists.

        Raises:
            FaultDidNotApply: no other executor took its place.
        """
        if self._victim is None:
            return "nothing was paused"
        victim = self._victim.process
        try:
            if not context.nodes.is_alive(victim) or self._replaced(context):
                return f"given up by the cluster after {HEARTBEAT_S:.0f} s of silence"
            still = "stopped" if context.nodes.is_paused(victim) else "running"
            msg = f"{_name(self._victim)} was not given up: it is {still}, nothing replaced it"
            raise FaultDidNotApply(msg)
        finally:
            context.nodes.resume(victim)

    def _replaced(self, context: FaultContext) -> bool:
        def another() -> bool:
            living = {one.process for one in processes("executor", context.nodes)}
            gone = self._victim is not None and not context.nodes.is_alive(self._victim.process)
            return bool(living - self._others) or gone

        return await_that(another, NOTICED_S)


fault("kill_python_worker", back_s=6)(_KillProcess, kind="python-worker")
# The master restarts it.
fault("kill_driver", back_s=96, suggestion=Suggestion(4, "it goes on from its checkpoint"))(
    _KillProcess, kind="driver"
)


@fault("kill_spark_worker", takes=("hold",), back_s=89, ends="cure", stacks=STANDALONE)
@dataclass
class KillSparkWorker:
    """SIGKILL of a worker daemon, whose executors (and perhaps the driver) die with it."""

    hold_s: float = 5.0

    def inject(self, context: FaultContext) -> str:
        """Kill a busy worker drawn at random, and wait until the master notices."""
        daemon, process, children = busy_worker(context)
        gone = context.nodes.kill(process)
        if not await_that(lambda: alive_workers(context) < len(WORKERS), NOTICED_S):
            msg = f"{daemon}, {gone}, but the master has not noticed for {NOTICED_S:.0f} s"
            raise FaultDidNotApply(msg)
        return f"{daemon} with {children} processes, {gone}, and the master knows"

    def heal(self, context: FaultContext) -> str:
        """Restart the worker."""
        context.restart("spark")
        return "worker started again"


@fault("roll_spark_workers", takes=("hold",), back_s=41, ends="cure", stacks=STANDALONE)
@dataclass
class RollSparkWorkers:
    """Rolling restart of the Spark workers, each shut down cleanly, as in an upgrade.

    A worker's executors, and a driver on it, end with it. Spark treats a driver that ends with a
    clean shutdown of its worker as killed on purpose, and does not restart it even under
    supervision. So the run is resubmitted, as the retry of its Airflow task does.

    Attributes:
        hold_s: time to wait after the last restart, in seconds.
    """

    hold_s: float = 0.0

    def inject(self, context: FaultContext) -> str:
        """Restart the workers; check that the master notices each stop and each return.

        Raises:
            FaultDidNotApply: a worker does not stop, or the master does not notice.
        """
        for daemon in WORKERS:
            stopped = context.nodes.stop(context.nodes.daemon(daemon))
            _await_count(context, len(WORKERS) - 1, f"{daemon}, {stopped}")
            context.restart("spark")
            _await_count(context, len(WORKERS), f"{daemon} was started again")
        return f"{len(WORKERS)} workers stopped and started in turn; the master missed each"

    def heal(self, context: FaultContext) -> str:
        """Start whatever is still stopped, and resubmit the run if no driver is left."""
        context.restart("spark")
        if living_drivers(context):
            return "all workers run, and so does the driver"
        context.submit_job()
        return "all workers run; the driver had ended with its worker, the run is submitted again"


def _await_count(context: FaultContext, workers: int, what: str) -> None:
    if not await_that(lambda: alive_workers(context) == workers, NOTICED_S):
        msg = f"{what}, but the master does not count {workers} workers after {NOTICED_S:.0f} s"
        raise FaultDidNotApply(msg)


def alive_workers(context: FaultContext) -> int:
    """Return how many workers the master counts; all of them if it does not answer."""
    try:
        return spark.alive_workers(context.endpoints.spark_ui)
    except NotReady:
        return len(WORKERS)  # no answer is not evidence of a lost worker


def living_drivers(context: FaultContext) -> list[str]:
    """Return the ids of the submissions that the master considers alive."""
    found = drivers.cluster(context.endpoints).list_drivers(context.endpoints)
    return sorted(one.submission_id for one in found if one.state in drivers.ALIVE)


def gone_from(port: int, what: str) -> str:
    """Return what was done, with the evidence that nothing answers on a port any more.

    Raises:
        FaultDidNotApply: something does.
    """
    if answers(port):
        msg = f"{what}, but something answers on its port {port}"
        raise FaultDidNotApply(msg)
    return f"{what}, nothing answers on its port"


# --- victims -----------------------------------------------------------------------------------


def busy_worker(context: FaultContext) -> tuple[str, ProcessId, int]:
    """Draw a worker that runs executors; return its name, process and number of children.

    Raises:
        FaultDidNotApply: no worker runs an executor.
    """
    found = []
    for daemon in WORKERS:
        process = context.nodes.daemon(daemon)
        family = context.nodes.children(daemon)
        if any(one.kind == "executor" for one in family):
            found.append((daemon, process, len(family)))
    if not found:
        msg = "no worker runs an executor: is a job running?"
        raise FaultDidNotApply(msg)
    return context.rng.choice(found)


def processes(kind: Kind, nodes: NodeControl) -> list[ClusterProcess]:
    """Return the processes of a kind that run on the cluster now, oldest first."""
    found = [one for daemon in HOSTS for one in nodes.children(daemon) if one.kind == kind]
    return sorted(found, key=lambda one: (one.process.started, one.process.pid))


def _required(kind: Kind, nodes: NodeControl) -> list[ClusterProcess]:
    found = processes(kind, nodes)
    if not found:
        msg = f"no {kind} runs on the cluster: is a job running?"
        raise FaultDidNotApply(msg)
    return found


def _youngest(kind: Kind, nodes: NodeControl) -> ClusterProcess:
    return _required(kind, nodes)[-1]


def _draw(kind: Kind, context: FaultContext) -> ClusterProcess:
    """Draw a victim; among Python workers, prefer a busy one."""
    candidates = _required(kind, context.nodes)
    if kind == "python-worker":
        candidates = _at_work(candidates) or candidates
    return _choose(candidates, context.rng)


def _choose(candidates: Sequence[ClusterProcess], rng: random.Random) -> ClusterProcess:
    return rng.choice(list(candidates))


def _at_work(candidates: Sequence[ClusterProcess]) -> list[ClusterProcess]:
    """Return the forked workers, busy ones if any; Spark would not miss their daemon at once."""
    forked = [one for one in candidates if not one.forks]
    return [one for one in forked if one.running] or forked


def _name(victim: ClusterProcess) -> str:
    if victim.kind == "executor":
        return f"executor {victim.executor}"
    return victim.job if victim.kind == "driver" else "a Python worker"
