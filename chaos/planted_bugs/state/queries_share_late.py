"""Queries that all use the first query's late mode.

Defect: a query's own late mode is ignored.
How one gets it: the lane reads the mode once and keeps it.
Expected: rows, dead letters and counts of the other queries follow the wrong policy.
"""

from __future__ import annotations

from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query
from chaos.planted_bugs.planted import Defect, PlantedLane, planted
from windowing.engine.plan import Plan
from windowing.engine.windows.sliding_lane import SlidingLanePart
from windowing.model.file.pipeline import Pipeline, Query


def of_another_mode(pipeline: Pipeline, query: Query) -> bool:
    """It is late in another mode than the first query."""
    return query.late.mode != pipeline.flows[0].late.mode


class SharingLane(PlantedLane):
    """Uses the first query's mode for all."""

    def __init__(self, defect: Defect, plan: Plan, *args: Any, **options: Any) -> None:
        super().__init__(defect, plan, *args, **options)
        mode = plan.flows[0].query.late.mode
        for part in self.parts.values():
            if isinstance(part, SlidingLanePart):
                query = part._query
                late = query.late.model_copy(update={"mode": mode})
                part._query = query.model_copy(update={"late": late})


BUG = planted_bug(
    planted("queries_share_late", lane=SharingLane),
    "deterministic",
    "conservation",
    "dead letters",
    shows_in=some_query(sliding, of_another_mode),
)
