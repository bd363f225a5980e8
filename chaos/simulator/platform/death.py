"""The death of a simulated job."""

from chaos.simulator.case import FailureKind


class JobDied(Exception):
    """The job must be restarted; `workers` says whether its workers died too."""

    def __init__(self, kind: FailureKind, *, workers: bool) -> None:
        self.kind, self.workers = kind, workers
        super().__init__(kind)
