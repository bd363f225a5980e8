"""A sink that reports dead letters in the first attempt at a batch only.

Defect: what was handed over is taken for written. Dead letters of an attempt that died before
it wrote them are never written.
How one gets it: a side output that is flushed by the first attempt and suppressed on recovery.
Expected: dead letters are lost.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.job import DEAD, SimulatedJob, Tables
from chaos.simulator.platform.parts import EngineParts


class FirstAttemptJob(SimulatedJob):
    """Leaves the dead letters out of every further attempt."""

    def write_sink(self, batch: int, token: int, tables: Tables) -> None:  # noqa: D102
        if len(self.history.attempts[batch]) > 1:
            tables = {table: lines for table, lines in tables.items() if table != DEAD}
        super().write_sink(batch, token, tables)


BUG = planted_bug(EngineParts("dead_letters_once_lost", job=FirstAttemptJob), "dead letters")
