"""A driver that goes on with the state of the batch in which it found a change of the queries.

Defect: what lanes and shards kept of the discarded batch is converted, not the state before it.
How one gets it: the batch is run again without going back to the version it began with.
Expected: its records are no longer new, and lost.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_query, with_extents_in_time
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts
from windowing.model.file.pipeline import Pipeline


class ForwardJob(SimulatedJob):
    """Keeps the state of the batch."""

    def change(self, after: Pipeline, batch: int, dies_at: int | None) -> None:  # noqa: D102
        for task, state in self._opened.items() if batch else ():
            kept = state.store.snapshot()
            self._files.commit(task, batch, self._files.load(task, batch - 1), kept)
        super().change(after, batch, dies_at)


BUG = planted_bug(
    EngineParts("change_after_its_batch", job=ForwardJob, changes=True),
    "no error",
    "deterministic",
    "conservation",
    "dead letters",
    shows_in=some_query(with_extents_in_time),
)
