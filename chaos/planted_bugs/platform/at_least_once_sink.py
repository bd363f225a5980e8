"""A sink that appends every batch, also reruns.

Defect: rows have no token, so a rerun batch is in the table twice.
How one gets it: `foreachBatch` with a plain append; a producer without transactions.
Expected: an identity occurs twice after a crash between sink and commit entry.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.sink import SimulatedSink, TableItem


class AppendingSink(SimulatedSink):
    """Appends, always."""

    def write(self, table: str, token: int, items: list[TableItem]) -> None:  # noqa: D102
        del token
        self.tables[table] += items


# If a batch emits only counts, the duplicate shows in the counts alone.
BUG = planted_bug(
    EngineParts("at_least_once_sink", sink=AppendingSink),
    "exactly once",
    "dead letters",
    "conservation",
)
