"""The tasks of a run, and the engines that they run for its current pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

import polars as pl
import pyarrow.compute as pc

from chaos.simulator.case import Case
from chaos.simulator.platform.between import Between
from chaos.simulator.platform.cluster import Engine, SimulatedCluster
from chaos.simulator.platform.sink import SimulatedSink
from chaos.simulator.platform.stages import (
    PackingStage,
    ScanningStage,
    Setup,
    SimulatedFusedShards,
    SimulatedLanes,
    SimulatedShards,
    begin,
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
from windowing.spark.storage.copies import Copies
from windowing.spark.storage.seed import write_seed
from windowing.spark.storage.store import MapStateStore


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
        tasks: of the changed pipeline.
        stores: what they begin with.
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
