"""A sink with one token for all its tables.

Defect: the first table that is written marks the batch as written for the others.
How one gets it: a token per sink, asked table by table.
Expected: rows, dead letters or counts are lost.
"""

from chaos.planted_bugs.guilt import guilty
from chaos.simulator.platform.parts import Parts
from chaos.simulator.platform.sink import Item, Sink


class OneTokenSink(Sink):
    """Keeps one token."""

    def write(self, table: str, token: int, items: list[Item]) -> None:  # noqa: D102
        if max(self.tokens.values(), default=-1) >= token:
            return
        super().write(table, token, items)


GUILTY = guilty(
    Parts("token_of_all_tables", sink=OneTokenSink),
    "deterministic",
    "conservation",
    "dead letters",
)
