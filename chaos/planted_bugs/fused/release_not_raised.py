"""Late records that wait for the epoch of their own chunk, not of their lane.

Defect: the release that a chunk implies is not raised by the progress before it.
How one gets it: windows are raised, and the third of three numbers is forgotten.
Expected: late revisions at too early an epoch, or late records in revision 0.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import can_be_fused, some_query, updates
from chaos.planted_bugs.planted import Defect
from chaos.simulator.platform.parts import EngineParts
from windowing.engine.columns import RELEASE
from windowing.engine.fused.settler import Redelivered, Settler
from windowing.engine.plan import Plan
from windowing.engine.windows.sliding_lane import Opened, SlidingLanePart
from windowing.model.file.pipeline import Pipeline


class StaleLanePart(SlidingLanePart):
    """Keeps the release of the chunk."""

    def _raised(self, scanned: pl.DataFrame, before: int) -> Opened:
        return replace(super()._raised(scanned, before), release=scanned[RELEASE].to_numpy())


class StaleSettler(Settler):
    """A settler with such parts."""

    def __init__(self, plan: Plan, redelivered: Redelivered = "error") -> None:
        super().__init__(plan, redelivered)
        Defect((StaleLanePart,), ()).plant(self)


def _shows(pipeline: Pipeline) -> bool:
    return can_be_fused(pipeline) and some_query(updates)(pipeline)


BUG = planted_bug(
    EngineParts("release_not_raised", settler=StaleSettler, fused=True),
    "deterministic",
    "closing",
    shows_in=_shows,
)
