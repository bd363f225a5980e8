"""A sink that appends whatever it is given.

Defect: no token goes with the rows, so a batch that is run again stands in the table twice.
How one gets it: `foreachBatch` with a plain append; a producer without transactions.
Expected: an identity stands twice after a crash between sink and commit entry.
"""

from chaos.planted_bugs.guilt import guilty
from chaos.simulator.platform.parts import Parts
from chaos.simulator.platform.sink import Item, Sink


class AppendingSink(Sink):
    """Appends, always."""

    def write(self, table: str, token: int, items: list[Item]) -> None:  # noqa: D102
        del token
        self.tables[table] += items


# A batch that emits nothing but its counts is doubled in these alone.
GUILTY = guilty(
    Parts("at_least_once_sink", sink=AppendingSink),
    "exactly once",
    "dead letters",
    "conservation",
)
