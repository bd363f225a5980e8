"""What faults of files and topics share: the job is stopped, and must then say what it misses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

from chaos.control.node_control import await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext, ReportedLoss
from jobs.checkpoints.checkpoint import newest

_GIVES_UP_S: Final = 300.0
_SURVIVES_BATCHES: Final = 2


@dataclass(frozen=True)
class Harm:
    """What was done while the job was stopped.

    Attributes:
        wanted: everything that the job's error must name.
        evidence: what was done.
        unnoticed: what it shows if the job continues without an error; None: it may do so.
    """

    wanted: tuple[str, ...]
    evidence: str
    unnoticed: str | None = None


@dataclass
class WhileStopped(ABC):
    """A fault that does harm while the job is stopped; the cure is to undo it."""

    hold_s: float = 0.0

    def inject(self, context: FaultContext) -> str:
        """Stop the job, do the harm, resubmit the job, and record its error.

        Raises:
            FaultDidNotApply: there is nothing to harm, the harm is not there, or the job neither
                gives up nor goes on, or goes on although it must not.
        """
        context.stop_job()
        harm = self.harm(context)
        context.submit_job()
        said = await_job_error(context)
        if said is None and harm.unnoticed is not None:
            raise FaultDidNotApply(harm.unnoticed)
        context.losses.append(ReportedLoss(harm.wanted, said))
        return harm.evidence

    def heal(self, context: FaultContext) -> str:
        """Undo the harm, and resubmit the job."""
        undone = self.undo(context)
        context.submit_job()
        return f"{undone}, job submitted again"

    @abstractmethod
    def harm(self, context: FaultContext) -> Harm:
        """Do it.

        Raises:
            FaultDidNotApply: it cannot be done, or has no effect.
        """

    def undo(self, context: FaultContext) -> str:
        """Undo it, also if it was done halfway or not at all; return what was observed."""
        raise NotImplementedError


def await_job_error(context: FaultContext) -> str | None:
    """Wait for the error with which the job gives up; return None if it commits batches instead.

    Raises:
        FaultDidNotApply: the job does neither.
    """
    commits = context.checkpoint / "commits"
    enough = newest(commits) + _SURVIVES_BATCHES

    def decided() -> bool:
        return context.job_error() is not None or newest(commits) >= enough

    if not await_that(decided, _GIVES_UP_S):
        msg = f"the job has neither given up nor gone on for {_GIVES_UP_S:.0f} s"
        raise FaultDidNotApply(msg)
    return context.job_error()
