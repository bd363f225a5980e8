"""Faults on the local stack: real signals, each with evidence that it took effect.

A fault without evidence proves nothing: the caller's verdict is then *unknown*, never a pass.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from infra import stack
from infra.cluster import ClusterProcess, Kind, cluster_processes
from infra.errors import InfraError
from infra.layout import Layout
from infra.process import is_alive, send

_GONE_S = 10.0
_POLL_S = 0.05

Inject = Callable[[], tuple[str, str]]
"""Does a fault; gives its name and the evidence that it took effect."""


class FaultDidNotApply(RuntimeError):
    """There was nothing to hurt, or it was not hurt."""


@dataclass(frozen=True)
class Fault:
    """A fault that took effect.

    Attributes:
        name: what was done.
        at_s: when, in seconds since 1970.
        evidence: how we know that it took effect.
        batches: how many batches were committed when it struck.
        recovered_s: seconds until the job made progress again; None while it has not.
    """

    name: str
    at_s: float
    evidence: str
    batches: int
    recovered_s: float | None = None

    def recovered(self, now_s: float) -> Fault:
        """The same fault, once the job has made progress again."""
        return replace(self, recovered_s=now_s - self.at_s)


def strike(inject: Inject, batches: int) -> Fault:
    """Do a fault now.

    Args:
        inject: one of the faults below.
        batches: how many batches the job has committed.

    Raises:
        FaultDidNotApply: it took no effect.
    """
    at_s = time.time()
    name, evidence = inject()
    return Fault(name, at_s, evidence, batches)


def kill_executor(layout: Layout | None = None) -> tuple[str, str]:
    """SIGKILL the youngest executor of the cluster.

    Raises:
        FaultDidNotApply: there is no executor, or it is still there.
    """
    victim = _youngest("executor", layout)
    _kill(victim)
    return "kill executor", f"executor {victim.executor}, pid {victim.process.pid}, is gone"


def kill_driver(layout: Layout | None = None) -> tuple[str, str]:
    """SIGKILL the driver of a job; under supervision the cluster starts it again.

    Raises:
        FaultDidNotApply: there is no driver, or it is still there.
    """
    victim = _youngest("driver", layout)
    _kill(victim)
    return "kill driver", f"{victim.job}, pid {victim.process.pid}, is gone"


def _youngest(kind: Kind, layout: Layout | None) -> ClusterProcess:
    workers = []
    for daemon in ("spark-worker-1", "spark-worker-2"):
        try:
            workers.append(stack.process_of(daemon, layout=layout))
        except InfraError:
            continue
    found = [process for process in cluster_processes(workers) if process.kind == kind]
    if not found:
        msg = f"no {kind} runs under the Spark workers: is a job running?"
        raise FaultDidNotApply(msg)
    return max(found, key=lambda process: process.process.started)


def _kill(victim: ClusterProcess) -> None:
    send(victim.process, signal.SIGKILL)
    deadline = time.monotonic() + _GONE_S
    while is_alive(victim.process):
        if time.monotonic() > deadline:
            msg = f"process {victim.process.pid} is alive {_GONE_S:.0f} s after SIGKILL"
            raise FaultDidNotApply(msg)
        time.sleep(_POLL_S)
