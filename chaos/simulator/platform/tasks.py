"""The tasks of a run, and the engines that they run for its current pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.simulator.case import Case
from chaos.simulator.platform.cluster import Engine
from chaos.simulator.platform.fused import FusedShard
from chaos.simulator.platform.state import Task
from windowing.engine.fused.scanner import Scanner
from windowing.engine.fused.settler import Redelivered
from windowing.engine.input.values import ValueRules
from windowing.engine.plan import plan_of
from windowing.model.file.pipeline import Pipeline

if TYPE_CHECKING:
    from chaos.simulator.platform.parts import EngineParts


class Tasks:
    """The lanes and shards of a pipeline, of an engine under test.

    Args:
        pipeline: the pipeline.
        parts: the engine.
        case: its set-up.

    Attributes:
        rules: by lane, how its values are decoded.
        lanes, shards: the tasks.
        stateful: those with state.
    """

    def __init__(self, pipeline: Pipeline, parts: EngineParts, case: Case) -> None:
        self._plan, self._parts, self._case = plan_of(pipeline), parts, case
        self._make_lane = parts.lanes(self._plan)
        numbers = range(len(case.lanes))
        self.rules = [ValueRules.of(pipeline, number) for number in numbers]
        self.lanes: list[Task] = [("lane", number) for number in numbers]
        self.shards: list[Task] = [("shard", number) for number in range(self._plan.shards)]
        self._fused = case.fused and self._plan.why_lanes is None
        self.stateful = self.shards if self._fused else [*self.lanes, *self.shards]

    def build(self, task: Task) -> Engine:
        """Build the engine of a task."""
        redelivered: Redelivered = "error" if self._case.strict else "skip"
        if task[0] == "lane":
            if self._fused:
                return Scanner(self._plan)
            lane = self._make_lane(task[1])
            lane.redelivered = redelivered
            return lane
        shard = self._parts.shard(self._plan)
        if self._fused:
            return FusedShard(self._parts.settler(self._plan, redelivered), shard)
        return shard
