"""The tasks of a run, and the engines that they run for its current pipeline."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from chaos.simulator.case import Case
from chaos.simulator.platform.cluster import Engine, SimulatedCluster
from chaos.simulator.platform.sink import SimulatedSink
from chaos.simulator.platform.stages import (
    PackingStage,
    ScanningStage,
    Setup,
    SimulatedFusedShards,
    SimulatedLanes,
    SimulatedShards,
)
from chaos.simulator.platform.state import StateFiles, Task
from windowing.engine.fused.scanner import Scanner
from windowing.engine.fused.settler import Redelivered, Settler
from windowing.engine.lane import Lane
from windowing.engine.plan import Plan, plan_of
from windowing.engine.shard import Shard
from windowing.model.file.pipeline import Pipeline
from windowing.spark.stages import rules_of
from windowing.spark.storage.store import Copies


class EngineUnderTest(Protocol):
    """What makes an engine under test: its lanes and shards, and the platform that runs them."""

    @property
    def lanes(self) -> Callable[[Plan], Callable[[int], Lane]]:
        """Called once per run; returns a factory for the lanes of partitions."""

    @property
    def shard(self) -> Callable[[Plan], Shard]:
        """Makes a shard."""

    @property
    def settler(self) -> Callable[[Plan, Redelivered], Settler]:
        """Makes what settles the chunks of the fused plan."""

    @property
    def state(self) -> Callable[[], StateFiles]:
        """Makes the files of the state."""

    @property
    def sink(self) -> Callable[[], SimulatedSink]:
        """Makes the sink."""

    @property
    def cluster(self) -> type[SimulatedCluster]:
        """The workers."""


class Tasks:
    """The lanes and shards of a pipeline, of an engine under test.

    Args:
        pipeline: the pipeline.
        parts: the engine.
        case: its set-up.

    Attributes:
        packing: the first stage, where lanes have a separate stage; None: it scans.
        lanes, shards: the tasks.
        stateful: those with state.
    """

    def __init__(self, pipeline: Pipeline, parts: EngineUnderTest, case: Case) -> None:
        self._plan, self._parts, self._case = plan_of(pipeline), parts, case
        self._make_lane = parts.lanes(self._plan)
        numbers, self._rules = range(pipeline.source.partitions), rules_of(pipeline)
        self.lanes: list[Task] = [("lane", number) for number in numbers]
        self.shards: list[Task] = [("shard", number) for number in range(self._plan.shards)]
        self._fused = case.fused and self._plan.why_lanes is None
        self.packing = None if self._fused else PackingStage(self._rules)
        self.stateful = self.shards if self._fused else [*self.lanes, *self.shards]

    def build(self, task: Task, copies: Copies | None = None) -> Engine:
        """Build the engine of a task.

        Args:
            task: the task.
            copies: its worker's, of large state; None: it keeps none.
        """
        setup = Setup(self._plan, copies)
        redelivered: Redelivered = "error" if self._case.strict else "skip"
        if task[0] == "lane":
            if self._fused:
                return ScanningStage(self._rules, Scanner(self._plan))
            return SimulatedLanes(setup, partial(self._lane, redelivered))
        shard = self._parts.shard(self._plan)
        if self._fused:
            settler = self._parts.settler(self._plan, redelivered)
            return SimulatedFusedShards(setup, shard, settler)
        return SimulatedShards(setup, shard)

    def _lane(self, redelivered: Redelivered, number: int) -> Lane:
        lane = self._make_lane(number)
        lane.redelivered = redelivered
        return lane
