"""The tasks of a run, and the engines that they run for its current pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow.compute as pc

from chaos.simulator.case import Case
from chaos.simulator.platform.between import Between
from chaos.simulator.platform.cluster import Engine, SimulatedCluster
from chaos.simulator.platform.sink import SimulatedSink
from chaos.simulator.platform.stages import (
    ScanningStage,
    SimulatedFusedShards,
    SimulatedLanes,
    SimulatedShards,
    begin,
    packed,
)
from chaos.simulator.platform.state import SimulatedMap, StateFiles, Task, Values
from windowing.engine.fused.scanner import Scanner
from windowing.engine.fused.settler import Redelivered, Settler
from windowing.engine.lane import Lane
from windowing.engine.plan import Plan, plan_of
from windowing.engine.shard import Shard
from windowing.engine.storage.state import MemoryStore
from windowing.model.file.pipeline import Pipeline
from windowing.spark.stages import rules_of
from windowing.spark.storage.seed import write_seed
from windowing.spark.storage.store import Copies, MapStateStore

OWN = "slackwater"
"""The name of the engine without a bug."""


def lanes(plan: Plan) -> Callable[[int], Lane]:
    """Return a factory for lanes: each is made anew on every worker and restart."""
    return partial(Lane, plan)


@dataclass(frozen=True)
class EngineUnderTest:
    """What makes an engine: by default the real lanes and shards, and a sound platform.

    Attributes:
        lanes: called once per run; returns a factory for the lanes of partitions.
        settler: makes what settles the chunks of the fused plan.
        state, sink, cluster: the platform.
    """

    name: str = OWN
    lanes: Callable[[Plan], Callable[[int], Lane]] = lanes
    shard: Callable[[Plan], Shard] = Shard
    settler: Callable[[Plan, Redelivered], Settler] = Settler
    state: Callable[[], StateFiles] = StateFiles
    sink: Callable[[], SimulatedSink] = SimulatedSink
    cluster: type[SimulatedCluster] = SimulatedCluster


class Tasks:
    """The lanes and shards of a pipeline, of an engine under test.

    Attributes:
        packing: the first stage, where lanes have a separate stage; None: it scans.
        stateful: those with state.
    """

    def __init__(self, pipeline: Pipeline, parts: EngineUnderTest, case: Case) -> None:
        self._plan, self._parts, self._case = plan_of(pipeline), parts, case
        self._make_lane = parts.lanes(self._plan)
        numbers, self._rules = range(pipeline.source.partitions), rules_of(pipeline)
        self.lanes: list[Task] = [("lane", number) for number in numbers]
        self.shards: list[Task] = [("shard", number) for number in range(self._plan.shards)]
        self._fused = case.fused and self._plan.why_lanes is None
        self.packing = None if self._fused else partial(packed, self._rules)
        self.stateful = self.shards if self._fused else [*self.lanes, *self.shards]

    def build(self, task: Task, copies: Copies | None = None) -> Engine:
        """Build the engine of a task.

        Args:
            copies: its worker's, of large state; None: it keeps none.
        """
        redelivered: Redelivered = "error" if self._case.strict else "skip"
        if task[0] == "lane":
            if self._fused:
                return ScanningStage(self._rules, Scanner(self._plan))
            return SimulatedLanes(self._plan, copies, partial(self._lane, redelivered))
        shard = self._parts.shard(self._plan)
        if self._fused:
            settler = self._parts.settler(self._plan, redelivered)
            return SimulatedFusedShards(self._plan, copies, shard, settler)
        return SimulatedShards(self._plan, copies, shard)

    def _lane(self, redelivered: Redelivered, number: int) -> Lane:
        lane = self._make_lane(number)
        lane.redelivered = redelivered
        return lane


_COLUMNS = {"lane": "partition", "shard": "shard"}


def stored(values: Values) -> MemoryStore:
    """Return what a task has put into its state, as a stopped run is read."""
    store = MemoryStore()
    for key, value in MapStateStore(SimulatedMap(values), None).scan(""):
        store.put(key, value)
    return store


def seeded(
    tasks: Tasks, stores: Mapping[Task, MemoryStore], folder: Path, between: Between
) -> dict[Task, Values]:
    """Return the state of tasks that begin with some stores, by way of a seed's files.

    Args:
        folder: for the seed; does not exist.
        between: what cuts the rows of a key.
    """
    named = {(_COLUMNS[kind], number): store for (kind, number), store in stores.items()}
    write_seed(folder, named)
    found: dict[Task, Values] = {}
    for kind, column in _COLUMNS.items():
        rows = pl.read_parquet((folder / f"{column}.parquet").read_bytes()).to_arrow()
        for task in (task for task in stores if task[0] == kind):
            state, stage = SimulatedMap({}), tasks.build(task)
            assert not isinstance(stage, ScanningStage)  # noqa: S101 - which has no state
            own = rows.filter(pc.equal(rows[column], task[1])).drop_columns([column])
            begin(stage, state)
            stage.begin_with(between.sent(own.to_batches()))
            found[task] = state.snapshot()
    return found
