"""What a fault is: an attack before it is made, and a record of it afterwards."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from chaos.control.node_control import NodeControl
    from infra.endpoints import Endpoints
    from infra.proxy import Proxy
    from windowing.model import Pipeline
    from windowing.semantics import LogEntry

Inject = Callable[[], tuple[str, str]]
"""Does a fault; gives its name and the evidence that it took effect."""

Condition = Callable[[], bool]
"""Something that may hold or not yet."""


@dataclass(frozen=True)
class InjectedFault:
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

    def recovered(self, now_s: float) -> InjectedFault:
        """The same fault, once the job has made progress again."""
        return replace(self, recovered_s=now_s - self.at_s)


def strike(inject: Inject, batches: int) -> InjectedFault:
    """Do a fault now.

    Args:
        inject: one of the faults.
        batches: how many batches the job has committed.

    Raises:
        FaultDidNotApply: it took no effect.
    """
    at_s = time.time()
    name, evidence = inject()
    return InjectedFault(name, at_s, evidence, batches)


@dataclass(frozen=True)
class PoisonedRecord:
    """A record that was sent to be refused.

    Attributes:
        partition, offset: where it stands in the topic.
        reason: what its dead letter must say.
    """

    partition: int
    offset: int
    reason: str


@dataclass(frozen=True)
class ReportedLoss:
    """What a job said of something that was taken from it, or changed.

    Attributes:
        wanted: what its error must name, each of them: a file, a lane, offsets.
        said: its error; None: it gave none and went on, which is right only if it has lost nothing.
    """

    wanted: tuple[str, ...]
    said: str | None

    @property
    def missing(self) -> tuple[str, ...]:
        """What the error does not name."""
        return tuple(one for one in self.wanted if self.said is not None and one not in self.said)


@dataclass(frozen=True)
class DeployableJob:
    """The job as Airflow deploys it.

    Attributes:
        pipeline: its name, which is the DAG's.
        run: the run's name.
        max_offsets: offsets per batch at the most.
    """

    pipeline: str
    run: str
    max_offsets: int


@dataclass(frozen=True)
class DeploymentOutcome:
    """What came of a deployment that was struck.

    Attributes:
        state: of the task that submits, as Airflow says.
        most: how many driver processes of the job ran at once at the most.
        left: the submission ids of those that run afterwards.
    """

    state: str
    most: int
    left: tuple[str, ...]


class Submit(Protocol):
    """Submits the run again."""

    def __call__(self, share: float = 1.0) -> None:
        """Submit it.

        Args:
            share: of the plan's offsets per batch: another one cuts other batches.
        """


@dataclass
class FaultContext:
    """What an attack finds: the stack, the job, and the means to hurt them.

    Attributes:
        endpoints: the stack's addresses, as this process sees them.
        pipeline: what the job runs.
        topic: the job's log.
        checkpoint: the job's checkpoint.
        reach: how the stack's parts are reached.
        rng: draws victims and moments; seeded.
        stop_job: ends the job by order, and waits until it is gone.
        submit_job: submits the same run again.
        restart: starts dead daemons of a component of the stack again, by its name.
        job_error: asks why the job has given up; None while it has not.
        proxy: stands between the job and the broker, where the plan has a use for it.
        deployable: what Airflow deploys; None where no Airflow runs.
        release: sends the records that were held back for some partitions; gives how many.
        sent: records that attacks have added to the topic, per partition.
        poison: those of them that must be refused.
        losses: what the job said about what the faults took from it, in order.
        deployments: outcomes of the deployments that faults interrupted, in order.
        log: the whole log, read before an attack took records from it; None where none did.
        tables: the folder of the job's tables.
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
    log: list[LogEntry] | None = None
    tables: Path = Path()

    def note_sent(self, sent: Mapping[int, int]) -> None:
        """Take note of records added to the topic, per partition."""
        for partition, count in sent.items():
            self.sent[partition] = self.sent.get(partition, 0) + count


class Fault(Protocol):
    """One fault, with its cure. An instance is used once."""

    hold_s: float
    """How long to wait between `inject` and `heal`, in seconds."""

    def inject(self, context: FaultContext) -> str:
        """Hurt; give the evidence that it took effect.

        Raises:
            FaultDidNotApply: it did not.
        """

    def heal(self, context: FaultContext) -> str:
        """Put right what the system cannot put right by itself; give what was seen.

        Called after every `inject`, also after one that failed half way.

        Raises:
            FaultDidNotApply: it turns out that the fault had no effect.
        """
