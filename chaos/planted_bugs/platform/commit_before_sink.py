"""A job that commits a batch before it writes its rows.

Defect: the commit entry is written before the sink. Rows not yet written when a job dies are never
written.
How one gets it: consumer offsets that are committed on a timer (`enable.auto.commit`).
Expected: rows are lost.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.job import SimulatedJob, Tables
from chaos.simulator.platform.parts import EngineParts


class HastyJob(SimulatedJob):
    """Commits first."""

    def conclude(  # noqa: D102
        self, batch: int, attempt: int, tables: Tables, *, state_first: bool
    ) -> None:
        del state_first
        self.commit_states()
        self.commits = batch + 1
        self.write_sink(batch, self.token(batch, attempt), tables)


BUG = planted_bug(
    EngineParts("commit_before_sink", job=HastyJob), "deterministic", "dead letters", "conservation"
)
