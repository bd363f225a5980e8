"""The protocol of a fault, the context that it runs in, and the records that it leaves."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from chaos.control.node_control import NodeControl
    from infra.endpoints import Endpoints
    from infra.proxy import Proxy
    from windowing.model import Pipeline
    from windowing.semantics import LogEntry

Inject = Callable[[], tuple[str, str]]
"""Injects a fault; returns its name and the evidence that it took effect."""

Condition = Callable[[], bool]
"""Whether something holds by now."""


@dataclass(frozen=True)
class InjectedFault:
    """A fault that took effect.

    Attributes:
        at_s: time of injection, in seconds since 1970.
        evidence: how we know that it took effect.
        batches: number of batches committed when it was injected.
        recovered_s: seconds until the job made progress again; None: not yet.
    """

    name: str
    at_s: float
    evidence: str
    batches: int
    recovered_s: float | None = None

    def recovered(self, now_s: float) -> InjectedFault:
        """Return the same fault with its recovery, at `now_s` seconds since 1970."""
        return replace(self, recovered_s=now_s - self.at_s)


def strike(inject: Inject, batches: int) -> InjectedFault:
    """Inject a fault now.

    `batches` is the number of batches that the job has committed.

    Raises:
        FaultDidNotApply: the fault had no effect.
    """
    at_s = time.time()
    name, evidence = inject()
    return InjectedFault(name, at_s, evidence, batches)


@dataclass(frozen=True)
class PoisonedRecord:
    """A record that the job must reject.

    Attributes:
        reason: the reason that its dead letter must give.
    """

    partition: int
    offset: int
    reason: str


@dataclass(frozen=True)
class ReportedLoss:
    """A job's error about something that a fault took away or changed.

    Attributes:
        wanted: everything that the error must name: a file, a lane, offsets.
        said: the error; None: the job continued without one: right only if nothing is lost.
    """

    wanted: tuple[str, ...]
    said: str | None

    @property
    def missing(self) -> tuple[str, ...]:
        """The parts of `wanted` that the error does not name."""
        return tuple(one for one in self.wanted if self.said is not None and one not in self.said)


@dataclass(frozen=True)
class DeployableJob:
    """The job as Airflow deploys it.

    Attributes:
        pipeline: the pipeline's name, which is also the DAG's.
    """

    pipeline: str
    run: str
    max_offsets: int


@dataclass(frozen=True)
class DeploymentOutcome:
    """The outcome of a deployment that a fault interrupted.

    Attributes:
        state: Airflow's state of the task that submits.
        most: the largest number of driver processes of the job that ran at the same time.
        left: the submission ids of the drivers that run afterwards.
    """

    state: str
    most: int
    left: tuple[str, ...]


class Submit(Protocol):
    """Resubmits the run."""

    def __call__(self, share: float = 1.0) -> None:
        """Submit the run.

        Args:
            share: fraction of the plan's offsets per batch; another fraction cuts other batches.
        """


@dataclass
class FaultContext:
    """The context of a fault: the stack, the job, and the means to control them.

    Attributes:
        endpoints: the stack's addresses, as seen from this process.
        rng: draws victims and moments; seeded.
        stop_job: stops the job, and waits until it is gone.
        submit_job: resubmits the same run.
        restart: restarts the dead daemons of a component of the stack, given its name.
        job_error: returns the error with which the job gave up; None while it has not.
        proxy: the proxy between the job and the broker; None if the plan needs none.
        deployable: the job as Airflow deploys it; None where no Airflow runs.
        release: sends the records held back for some partitions; returns how many per partition.
        sent: number of records that faults added to the topic, per partition.
        poison: those of them that the job must reject.
        losses: what the job said about what the faults took from it, in order.
        deployments: outcomes of the deployments that faults interrupted, in order.
        imported: what a job imported because its log names it, which it must not.
        log: the whole log, read before a fault removed records from it; None: no fault did.
    """

    endpoints: Endpoints
    pipeline: Pipeline
    topic: str
    checkpoint: Path
    nodes: NodeControl
    rng: random.Random
    stop_job: Callable[[], None]
    submit_job: Submit
    restart: Callable[[str], None]
    job_error: Callable[[], str | None] = lambda: None
    proxy: Proxy | None = None
    deployable: DeployableJob | None = None
    release: Callable[[Collection[int]], dict[int, int]] = lambda partitions: {}
    sent: dict[int, int] = field(default_factory=dict)
    poison: list[PoisonedRecord] = field(default_factory=list)
    losses: list[ReportedLoss] = field(default_factory=list)
    deployments: list[DeploymentOutcome] = field(default_factory=list)
    imported: list[str] = field(default_factory=list)
    log: list[LogEntry] | None = None
    tables: Path = Path()

    def note_sent(self, sent: Mapping[int, int]) -> None:
        """Count records added to the topic, per partition."""
        for partition, count in sent.items():
            self.sent[partition] = self.sent.get(partition, 0) + count


class Fault(Protocol):
    """One fault and its cure. An instance is used once."""

    hold_s: float
    """Time between `inject` and `heal`, in seconds."""

    def inject(self, context: FaultContext) -> str:
        """Inject the fault; return evidence that it took effect.

        Raises:
            FaultDidNotApply: the fault had no effect.
        """

    def heal(self, context: FaultContext) -> str:
        """Repair what the system cannot repair by itself; return what was observed.

        Called after every `inject`, even one that failed halfway.

        Raises:
            FaultDidNotApply: the fault turns out to have had no effect.
        """


@dataclass
class NoCure:
    """The part of a fault that leaves nothing to repair.

    Attributes:
        left: why, as `heal` reports it.
    """

    left: ClassVar[str]
    hold_s: float = 0.0

    def heal(self, context: FaultContext) -> str:
        """Do nothing."""
        del context
        return self.left
