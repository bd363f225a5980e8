"""A sink whose token is ahead of what it has written.

Defect: a batch is recorded under the next number, and the next batch is skipped.
How one gets it: "the next batch to write" in one place and "the last one written" in another.
Expected: every other batch is lost.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.sink import SimulatedSink, TableItem


class AheadSink(SimulatedSink):
    """Records the number of the next batch."""

    def write(self, table: str, token: int, items: list[TableItem]) -> None:  # noqa: D102
        if self.tokens.get(table, -1) >= token:
            return
        super().write(table, token, items)
        self.tokens[table] = token + 1


BUG = planted_bug(
    EngineParts("token_ahead", sink=AheadSink), "conservation", "deterministic", "dead letters"
)
