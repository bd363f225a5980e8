"""Retention judged by the stream's progress, not by the lane's own.

Defect: a record beyond retention is accepted if the other partitions are slow enough.
How one gets it: state is purged by the global watermark, and accepts records until then.
Expected: late revisions that the definition does not have, in place of dead letters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import several_lanes, sliding, some_query, updates
from chaos.planted_bugs.lanes.watermark import WatchingLane, Watermark
from chaos.simulator.platform.parts import EngineParts
from windowing.engine import wids
from windowing.engine.lane import Lane, LaneState
from windowing.engine.plan import Plan
from windowing.engine.progress.clock import ClockId, Course, Rows
from windowing.engine.state import StateStore
from windowing.engine.wids import Ints
from windowing.engine.windows.sliding_lane import Opened, SlidingLanePart
from windowing.model.file.pipeline import Pipeline, Query


class StreamRetention(SlidingLanePart):
    """Rejects what is older than the watermark minus the retention."""

    def __init__(self, query: Query, pipeline: Pipeline, lane: RetentionLane) -> None:
        super().__init__(query, pipeline)
        self._lane = lane

    def _opened(self, progress_us: Ints) -> Opened:
        stood = np.full_like(progress_us, self._lane.stood_us)
        kept = wids.lowered(np.minimum(stood, progress_us), self._query.retention_us or 0)
        return replace(super()._opened(progress_us), kept=self._numbering.open_from(kept))


class RetentionLane(WatchingLane):
    """Gives its assigners the watermark at the start of the batch."""

    stood_us = 0

    def __init__(self, plan: Plan, watermark: Watermark, partition: int) -> None:
        super().__init__(plan, watermark, partition)
        for flow in plan.queries:
            if type(self.parts[flow.name]) is SlidingLanePart:
                self.parts[flow.name] = StreamRetention(flow.query, plan.pipeline, self)

    def _run(self, clock: ClockId, rows: Rows, state: LaneState, store: StateStore) -> Course:
        course = super()._run(clock, rows, state, store)
        if clock != self._plan.clocks[0]:
            return course
        self.stood_us = self.watermark.stands_us
        self.tell(self._partition, course.reached.progress_us)
        return course


def lanes(plan: Plan) -> Callable[[int], Lane]:
    """Return a factory of lanes that share a watermark."""
    watermark = Watermark(partitions=plan.lanes)
    return partial(RetentionLane, plan, watermark)


BUG = planted_bug(
    EngineParts("stream_progress_retention", lanes=lanes),
    "deterministic",
    "dead letters",
    "conservation",
    "repeatable",
    shows_in=some_query(sliding, updates, several_lanes),
)
