"""A lane that ignores a hole, although its source is declared dense.

Defect: offsets are checked to be larger, not consecutive.
How one gets it: a check for redelivery alone.
Expected: rows where the definition rejects the log.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import PlantedLane, planted
from windowing.engine.wids import Ints
from windowing.model.file.pipeline import Pipeline


def dense(pipeline: Pipeline) -> bool:
    """Whether offsets are consecutive."""
    return pipeline.source.dense


class PorousLane(PlantedLane):
    """Accepts holes."""

    def _refuse_holes(self, offsets: Ints, last_offset: int) -> None:
        del offsets, last_offset


BUG = planted_bug(
    planted("holes_go_unnoticed", lane=PorousLane), "no error", "deterministic", shows_in=dense
)
