"""A job that goes on with an empty table where it has lost a full one.

Defect: at its start it does not look whether its tables hold what its checkpoint has committed.
How one gets it: `CREATE TABLE IF NOT EXISTS`.
Expected: the loss is not named.
"""

from collections.abc import Mapping, Sequence

from chaos.guilty.guilt import guilty
from chaos.guilty.planted import Defect
from chaos.simulator.job import Job
from chaos.simulator.parts import Parts
from chaos.simulator.sink import Ends
from chaos.simulator.start import Stand, compare


def unmoved(
    planned: Sequence[Ends],
    commits: int,
    tables: Sequence[str],
    plans: Mapping[str, Mapping[int, Ends]],
) -> Stand:
    """A comparison that misses no table."""
    return Stand(compare(planned, commits, tables, plans).follow, ())


class CarelessJob(Job):
    """Makes a new table where there is none."""

    def _lose_table(self, which: int) -> None:
        with Defect((), (("chaos.simulator.job:compare", unmoved),)).at_work():
            super()._lose_table(which)


GUILTY = guilty(Parts("lost_table_unnoticed", job=CarelessJob), "nothing skipped")
