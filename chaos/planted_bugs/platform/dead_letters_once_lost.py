"""A sink that writes dead letters only in the first attempt at a batch.

Defect: dead letters handed over count as written. Those of an attempt that died before
the write are never written.
How one gets it: a side output that is flushed by the first attempt and suppressed on recovery.
Expected: dead letters are lost.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.job import DEAD, SimulatedJob, Tables
from chaos.simulator.platform.parts import EngineParts


class FirstAttemptJob(SimulatedJob):
    """Omits dead letters from every later attempt."""

    def write_sink(self, batch: int, token: int, tables: Tables) -> None:  # noqa: D102
        if len(self.history.attempts[batch]) > 1:
            tables = {table: lines for table, lines in tables.items() if table != DEAD}
        super().write_sink(batch, token, tables)


BUG = planted_bug(EngineParts("dead_letters_once_lost", job=FirstAttemptJob), "dead letters")
