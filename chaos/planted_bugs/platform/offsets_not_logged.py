"""A job that plans the end of a batch again after a restart.

Defect: the offsets of a batch are not written ahead. A rerun of the batch takes more of
the log than before; the sink, which knows the batch, ignores the new records.
How one gets it: "read whatever is there" on recovery, with a sink that is idempotent by batch id.
Expected: rows are lost; the attempts at a batch produce different rows.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.case import Failure, PlannedBatch
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts


class ForgetfulJob(SimulatedJob):
    """Takes up to two more records of each lane into a rerun batch."""

    def attempt(  # noqa: D102
        self, batch: int, attempt: int, step: PlannedBatch, failure: Failure | None
    ) -> None:
        if attempt and batch == len(self.planned) - 1:
            sizes = [len(rows.offsets) for rows in self.log]
            ends = zip(self.planned[batch], sizes, strict=True)
            self.planned[batch] = tuple(min(end + 2, size) for end, size in ends)
        super().attempt(batch, attempt, step, failure)


BUG = planted_bug(
    EngineParts("offsets_not_logged", job=ForgetfulJob),
    "deterministic",
    "dead letters",
    "conservation",
    "repeatable",
)
