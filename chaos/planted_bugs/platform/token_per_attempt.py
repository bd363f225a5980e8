"""Sink written before, state committed after, each attempt with another batch id.

Defect: the sink knows a batch by a number that is drawn anew for each attempt. Once the job has
died between sink and commit, the same rows come under a new number.
How one gets it: a batch id from a counter in memory, a clock or a UUID instead of the checkpoint's.
Expected: an identity stands twice.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts


class CountingJob(SimulatedJob):
    """Numbers its attempts, and tells the sink this number."""

    _drawn = 0

    def token(self, batch: int, attempt: int) -> int:  # noqa: D102
        del batch, attempt
        self._drawn += 1
        return self._drawn


# A batch that emits nothing but its counts is doubled in these alone.
BUG = planted_bug(
    EngineParts("token_per_attempt", job=CountingJob),
    "exactly once",
    "dead letters",
    "conservation",
)
