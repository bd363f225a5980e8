"""A driver that does not finish what another one, which died in a change of the queries, began.

Defect: some states are converted for the new pipeline, the others and the file are not.
How one gets it: each file is replaced whole, but not all of them together.
Expected: the job stops, since its states belong to different pipelines.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_query, with_extents_in_time
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts
from windowing.model.file.pipeline import Pipeline


class ForgetfulJob(SimulatedJob):
    """Begins with what is there."""

    def change(self, after: Pipeline, batch: int, dies_at: int | None) -> None:  # noqa: D102
        if dies_at is None:
            super().change(after, batch, None)
            return
        steps = self._file.change(after, batch, self._tasks.stateful)
        for _ in zip(range(dies_at + 1), steps, strict=False):
            self._cluster.restart()


BUG = planted_bug(
    EngineParts("change_left_half_done", job=ForgetfulJob, changes=True),
    "no error",
    "deterministic",
    shows_in=some_query(with_extents_in_time),
)
