"""A job that goes on from an old copy of its checkpoint as if it had never been further.

Defect: batches are planned anew under numbers that the tables have already, cut otherwise; the
tables know the numbers, and ignore what is new in them.
How one gets it: `written >= batch_id`, and a backup.
Expected: rows are lost.
"""

from collections.abc import Mapping, Sequence

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import Defect
from chaos.simulator.case import PlannedBatch
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.sink import Ends
from chaos.simulator.platform.start import StartCheck, compare


def blind(
    planned: Sequence[Ends],
    commits: int,
    tables: Sequence[str],
    plans: Mapping[str, Mapping[int, Ends]],
) -> StartCheck:
    """A comparison that does not see what tables have beyond the checkpoint."""
    return StartCheck((), compare(planned, commits, tables, plans).behind)


class RestoredJob(SimulatedJob):
    """Asks no table where it was."""

    def _restore_checkpoint(self, step: PlannedBatch) -> None:
        with Defect((), (("chaos.simulator.platform.job:compare", blind),)).at_work():
            super()._restore_checkpoint(step)


BUG = planted_bug(
    EngineParts("old_checkpoint_plans_anew", job=RestoredJob),
    "deterministic",
    "conservation",
    "dead letters",
)
