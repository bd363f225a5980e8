"""A sink with one token for all its tables.

Defect: the first table written marks the batch as written for all tables.
How one gets it: a token per sink, checked table by table.
Expected: rows, dead letters or counts are lost.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.sink import SimulatedSink, TableItem


class OneTokenSink(SimulatedSink):
    """Keeps one token."""

    def write(self, table: str, token: int, items: list[TableItem]) -> None:  # noqa: D102
        if max(self.tokens.values(), default=-1) >= token:
            return
        super().write(table, token, items)


BUG = planted_bug(
    EngineParts("token_of_all_tables", sink=OneTokenSink),
    "deterministic",
    "conservation",
    "dead letters",
)
