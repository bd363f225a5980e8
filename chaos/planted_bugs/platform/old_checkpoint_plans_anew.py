"""A job that resumes from an old checkpoint as if it had never been further.

Defect: new batches get ids that the tables already have, with other cuts; the
tables know the ids and ignore the new rows.
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
    """Return the comparison without batches that only the tables have."""
    return StartCheck((), compare(planned, commits, tables, plans).behind)


class RestoredJob(SimulatedJob):
    """Does not ask the tables for their last batch."""

    def _restore_checkpoint(self, step: PlannedBatch) -> None:
        with Defect((), (("chaos.simulator.platform.job:compare", blind),)).at_work():
            super()._restore_checkpoint(step)


BUG = planted_bug(
    EngineParts("old_checkpoint_plans_anew", job=RestoredJob),
    "deterministic",
    "conservation",
    "dead letters",
)
