"""A late record is released with the progress that it met, not at the end of its epoch.

Defect: the epoch is one too early, and lies in the past already where the stream is ahead of it.
How one gets it: `x div T` for `x div T + 1`; or a late firing "as soon as it comes".
Expected: late revisions are missing, too many, or too early.
"""

from __future__ import annotations

from chaos.guilty.guilt import guilty
from chaos.guilty.planted import PlantedLane, planted_lanes
from chaos.simulator.parts import Parts
from windowing.assign.sliding import SlidingAssigner
from windowing.wids import Flags, Ints


class ImpatientAssigner(SlidingAssigner):
    """Releases late records at once."""

    def _waiting(self, progress_us: Ints, first: Ints, last_late: Ints) -> tuple[Flags, Ints, Ints]:
        waits, first_late, _ = super()._waiting(progress_us, first, last_late)
        return waits, first_late, progress_us


class ImpatientLane(PlantedLane):
    """A lane without late epochs."""

    assigner = ImpatientAssigner


GUILTY = guilty(
    Parts("no_late_epochs", lanes=planted_lanes(ImpatientLane)),
    "deterministic",
    "closing",
    "no error",
)
