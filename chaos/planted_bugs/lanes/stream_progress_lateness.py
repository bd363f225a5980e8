"""Lateness judged by the stream's progress, not by the lane's own.

Defect: whether a record is late depends on the other partitions' progress on arrival, and so
on batches and interleaving.
How one gets it: a global watermark, as in Spark (apache/spark#56043) and Flink.
Expected: records late by the definition are in revision 0, and the counts differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import several_lanes, sliding, some_query
from chaos.planted_bugs.lanes.watermark import WatchingLane, Watermark
from chaos.simulator.platform.parts import EngineParts
from windowing.engine.lane import Lane, LaneState
from windowing.engine.plan import Plan
from windowing.engine.progress.clock import ClockId, Course, Rows
from windowing.engine.state import StateStore


class GlobalLane(WatchingLane):
    """Judges by the watermark at the start of the batch."""

    def _run(self, clock: ClockId, rows: Rows, state: LaneState, store: StateStore) -> Course:
        course = super()._run(clock, rows, state, store)
        if clock != self._plan.clocks[0]:
            return course
        stood_us = self.watermark.stands_us
        self.tell(self._partition, course.reached.progress_us)
        return replace(course, progress_us=np.full_like(course.progress_us, stood_us))


def lanes(plan: Plan) -> Callable[[int], Lane]:
    """Return a factory of lanes that share a watermark."""
    watermark = Watermark(partitions=plan.lanes)
    return partial(GlobalLane, plan, watermark)


BUG = planted_bug(
    EngineParts("stream_progress_lateness", lanes=lanes),
    "deterministic",
    "dead letters",
    "conservation",
    "repeatable",
    shows_in=some_query(sliding, several_lanes),
)
