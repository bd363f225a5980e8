"""A job that goes on with an empty table where it has lost a full one.

Defect: at its start it does not look whether its tables hold what its checkpoint has committed.
How one gets it: `CREATE TABLE IF NOT EXISTS`.
Expected: the loss is not named.
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
    """A comparison that misses no table."""
    return StartCheck(compare(planned, commits, tables, plans).follow, ())


class CarelessJob(SimulatedJob):
    """Creates a table that is missing."""

    def _lose_table(self, which: int) -> None:
        with Defect((), (("chaos.simulator.platform.job:compare", unmoved),)).at_work():
            super()._lose_table(which)


BUG = planted_bug(EngineParts("lost_table_unnoticed", job=CarelessJob), "nothing skipped")
