"""A sink that records the batch first and writes its rows afterwards.

Defect: token and rows are two transactions. A job that dies in between finds the token when it
restarts, and skips the batch.
How one gets it: an idempotence table beside the data, in another store.
Expected: rows are lost.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.platform.at_least_once_sink import AppendingSink
from chaos.simulator.platform.job import SimulatedJob, Tables
from chaos.simulator.platform.parts import EngineParts


class NotingJob(SimulatedJob):
    """Records every table's token before it writes the first table."""

    def write_sink(self, batch: int, token: int, tables: Tables) -> None:  # noqa: D102
        noted = self.sink.tokens
        due = {name: lines for name, lines in tables.items() if noted.get(name, -1) < token}
        noted.update(dict.fromkeys(due, token))
        super().write_sink(batch, token, due)


BUG = planted_bug(
    EngineParts("token_before_rows", sink=AppendingSink, job=NotingJob),
    "deterministic",
    "dead letters",
    "conservation",
)
