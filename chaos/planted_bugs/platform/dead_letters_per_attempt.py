"""A sink that writes rows once, but dead letters per attempt.

Defect: the token protects the rows; dead letters are "only" for people.
How one gets it: a logger.
Expected: a dead letter occurs twice.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.job import DEAD
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.sink import SimulatedSink, TableItem


class LoggingSink(SimulatedSink):
    """Appends dead letters without a token."""

    def write(self, table: str, token: int, items: list[TableItem]) -> None:  # noqa: D102
        if table == DEAD:
            self.tables[table] += items
            return
        super().write(table, token, items)


BUG = planted_bug(EngineParts("dead_letters_per_attempt", sink=LoggingSink), "dead letters")
