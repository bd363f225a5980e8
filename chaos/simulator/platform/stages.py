"""The stages as the simulated job runs them: those of Spark, with lanes and shards under test.

A worker keeps its lanes and shards from batch to batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from chaos.simulator.platform.state import SimulatedMap
from windowing.engine.fused.scanner import Scanner
from windowing.engine.fused.settler import Settler
from windowing.engine.lane import Lane
from windowing.engine.plan import Plan
from windowing.engine.shard import Shard
from windowing.spark.sources.pieces import Batches, whole_rows
from windowing.spark.stages import (
    FusedShardStage,
    LaneStage,
    RulesOf,
    ShardStage,
    packed_rows,
    scanned_rows,
)
from windowing.spark.storage.store import Copies, MapStateStore


def packed(rules: RulesOf, raw: Batches) -> Batches:
    """Make chunks of one task's rows; the rules say by lane how values are decoded."""
    return packed_rows(whole_rows()(raw), rules)


@dataclass(frozen=True)
class ScanningStage:
    """The first stage of the fused plan: from raw rows to messages for shards.

    Attributes:
        rules: by lane, how its values are decoded.
        scans: what scans chunks.
    """

    rules: RulesOf
    scans: Scanner

    def __call__(self, raw: Batches) -> Batches:
        """Process one task's rows."""
        return scanned_rows(whole_rows()(raw), self.rules, self.scans)


class _OnWorker:
    """A stage that a simulated worker has; without copies, it keeps none of large state."""

    _given_plan: Plan
    _worker_copies: Copies | None

    def plan(self) -> Plan:
        return self._given_plan

    def copies(self) -> Copies | None:
        return self._worker_copies


class SimulatedLanes(_OnWorker, LaneStage):
    """The lanes' stage on one worker; `make` makes the lane of a number."""

    def __init__(self, plan: Plan, copies: Copies | None, make: Callable[[int], Lane]) -> None:
        super().__init__(plan.pipeline.text)
        self._given_plan, self._worker_copies = plan, copies
        self._make, self._lanes = make, dict[int, Lane]()

    def lane(self, number: int) -> Lane:  # noqa: D102
        if number not in self._lanes:
            self._lanes[number] = self._make(number)
        return self._lanes[number]


class SimulatedShards(_OnWorker, ShardStage):
    """The shards' stage on one worker; `now_us` is the simulated clock."""

    def __init__(self, plan: Plan, copies: Copies | None, shard: Shard) -> None:
        super().__init__(plan.pipeline.text)
        self._given_plan, self._worker_copies = plan, copies
        self._shard, self.now_us = shard, 0

    def shard(self) -> Shard:  # noqa: D102
        return self._shard

    def wall_us(self) -> int:  # noqa: D102
        return self.now_us


class SimulatedFusedShards(SimulatedShards, FusedShardStage):
    """The shards' stage of the fused plan, with what settles chunks."""

    def __init__(self, plan: Plan, copies: Copies | None, shard: Shard, settler: Settler) -> None:
        super().__init__(plan, copies, shard)
        self._settler = settler

    def settler(self) -> Settler:  # noqa: D102
        return self._settler


Stateful = SimulatedLanes | SimulatedShards


def begin(stage: Stateful, state: SimulatedMap) -> None:
    """Begin a step of a stage, on the state of its key."""
    stage.open(partial(MapStateStore, state, stage.copies()))
