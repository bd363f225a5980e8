"""A sink that is written before the commit, with a new batch id per attempt.

Defect: the sink identifies a batch by a number that changes with each attempt. Once the job has
died between sink and commit, the same rows arrive under a new number.
How one gets it: a batch id from an in-memory counter, a clock or a UUID instead of the checkpoint.
Expected: an identity occurs twice.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts


class CountingJob(SimulatedJob):
    """Passes the number of the attempt to the sink as batch id."""

    _drawn = 0

    def token(self, batch: int, attempt: int) -> int:  # noqa: D102
        del batch, attempt
        self._drawn += 1
        return self._drawn


# If a batch emits only counts, the duplicate shows in the counts alone.
BUG = planted_bug(
    EngineParts("token_per_attempt", job=CountingJob),
    "exactly once",
    "dead letters",
    "conservation",
)
