"""A job that replaces a lost table by an empty one and continues.

Defect: at start it does not check that its tables hold what its checkpoint has committed.
How one gets it: `CREATE TABLE IF NOT EXISTS`.
Expected: the loss is not reported.
"""

from collections.abc import Mapping, Sequence

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import Defect
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.sink import Ends
from chaos.simulator.platform.start import StartCheck, compare


def unmoved(
    planned: Sequence[Ends],
    commits: int,
    tables: Sequence[str],
    plans: Mapping[str, Mapping[int, Ends]],
) -> StartCheck:
    """Return the comparison of tables and checkpoint without missing tables."""
    return StartCheck(compare(planned, commits, tables, plans).follow, ())


class CarelessJob(SimulatedJob):
    """Creates missing tables."""

    def _lose_table(self, which: int) -> None:
        with Defect((), (("chaos.simulator.platform.job:compare", unmoved),)).at_work():
            super()._lose_table(which)


BUG = planted_bug(EngineParts("lost_table_unnoticed", job=CarelessJob), "nothing skipped")
