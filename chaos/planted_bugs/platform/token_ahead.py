"""A sink whose token is ahead of what it has written.

Defect: a batch is noted as the next one, which is passed over when it comes.
How one gets it: "the next batch to write" in one place and "the last one written" in another.
Expected: every other batch is lost.
"""

from chaos.planted_bugs.guilt import guilty
from chaos.simulator.platform.parts import Parts
from chaos.simulator.platform.sink import Item, Sink


class AheadSink(Sink):
    """Notes the next batch."""

    def write(self, table: str, token: int, items: list[Item]) -> None:  # noqa: D102
        if self.tokens.get(table, -1) >= token:
            return
        super().write(table, token, items)
        self.tokens[table] = token + 1


GUILTY = guilty(
    Parts("token_ahead", sink=AheadSink), "conservation", "deterministic", "dead letters"
)
