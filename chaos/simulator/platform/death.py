"""The death of a simulated job."""

from __future__ import annotations

from dataclasses import dataclass

from chaos.simulator.case import Failure, FailureKind


class JobDied(Exception):
    """The job must be restarted; `workers` says whether its workers died too."""

    def __init__(self, kind: FailureKind, *, workers: bool) -> None:
        self.kind, self.workers = kind, workers
        super().__init__(kind)


@dataclass(frozen=True)
class Fate:
    """What befalls one attempt at a batch.

    Attributes:
        failure: the failure; None: the attempt succeeds.
    """

    failure: Failure | None

    def pass_by(
        self, kind: FailureKind, number: int = 0, of: int = 1, *, workers: bool = True
    ) -> None:
        """Pass a place where a failure of a kind strikes, the first of some.

        Raises:
            JobDied: it does.
        """
        failure = self.failure
        if failure is not None and failure.kind == kind and failure.at % of == number:
            raise JobDied(kind, workers=workers)

    def worker(self, kind: FailureKind) -> int | None:
        """Return the worker that dies if a failure of this kind is due; None: none does."""
        failure = self.failure
        return failure.at if failure is not None and failure.kind == kind else None
