"""One attempt to run a batch's stages on the simulated cluster, as Spark runs them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa

from chaos.simulator.case import FailureKind
from chaos.simulator.platform.between import Between, RawTask
from chaos.simulator.platform.cluster import OpenState, SimulatedCluster
from chaos.simulator.platform.death import Fate
from chaos.simulator.platform.stages import ScanningStage, begin
from chaos.simulator.platform.state import SimulatedMap, Task
from chaos.simulator.platform.tasks import Tasks
from windowing.engine.reading.pack import RawRows
from windowing.runtime.output import SinkFrame
from windowing.spark.sinks.data_files import EMISSIONS
from windowing.spark.sinks.tokens import Frames
from windowing.spark.stages import PARCELS_SENT
from windowing.spark.storage.slots import number_of, slot_of

_Output = TypeVar("_Output")
_Batches = list[pa.RecordBatch]


@dataclass
class Execution:
    """An attempt at a batch.

    Attributes:
        batch: its number, which is the version of the state that it begins with.
        befell: which deaths of workers took effect.
        opened: the states that it works on, uncommitted.
    """

    batch: int
    tasks: Tasks
    cluster: SimulatedCluster
    fate: Fate
    rng: random.Random
    between: Between
    wall_us: int
    befell: Counter[str] = field(default_factory=Counter)
    opened: dict[Task, OpenState] = field(default_factory=dict)

    def emissions(self, chunks: Mapping[int, Sequence[RawRows]]) -> list[Frames]:
        """Run all stages over a batch's chunks by lane; return what each shard emits."""
        for task in self.tasks.stateful:
            if task[0] == "lane":
                self._open(task)
        reads = self.between.tasks(chunks)
        messages = self._parcels(reads) if self.tasks.packing else self._scanned(reads)
        self.rng.shuffle(messages)
        waiting = self._waiting([one for own in messages for one in own], self.tasks.shards)

        def shard(task: Task) -> Frames:
            stage: Any = self.cluster.engine(task)
            stage.now_us = self.wall_us
            found = pa.Table.from_batches(self._step(task, waiting, EMISSIONS), EMISSIONS)
            columns = (column.to_pylist() for column in found.columns)
            return [SinkFrame(*row) for row in zip(*columns, strict=True)]

        return self._stage(self.tasks.shards, shard, "shards")

    def _parcels(self, reads: Sequence[RawTask]) -> list[_Batches]:
        """Pack what each task reads, and run the lanes; return the parcels of each."""
        packing = self.tasks.packing
        assert packing is not None  # noqa: S101 - else chunks are scanned
        chunks = [one for read in reads for one in packing(self.between.raw(read))]
        waiting = self._waiting(chunks, self.tasks.lanes)

        def lane(task: Task) -> _Batches:
            return self._step(task, waiting, PARCELS_SENT)

        return self._stage([one for one in self.tasks.lanes if one in waiting], lane, "lanes")

    def _scanned(self, reads: Sequence[RawTask]) -> list[_Batches]:
        """Scan what each task reads, on the worker of its first lane; return the messages."""
        of_lane: dict[Task, list[RawTask]] = {}
        for read in reads:
            of_lane.setdefault(self.tasks.lanes[read[0][0]], []).append(read)

        def scan(task: Task) -> _Batches:
            stage: Any = self.cluster.engine(task)
            return [one for read in of_lane[task] for one in stage(self.between.raw(read))]

        return self._stage([*of_lane], scan, "lanes")

    def _waiting(self, messages: _Batches, tasks: Sequence[Task]) -> dict[Task, Sequence[bytes]]:
        slots = [slot_of(number) for _, number in tasks]
        found = self.between.grouped(messages, slots)
        return {task: found[slot] for task, slot in zip(tasks, slots, strict=True) if slot in found}

    def _step(
        self, task: Task, waiting: Mapping[Task, Sequence[bytes]], schema: pa.Schema
    ) -> _Batches:
        """Run a stateful stage for one key, if there is anything for it."""
        stage, state = self.cluster.engine(task), self._open(task)
        if task not in waiting:
            return []
        assert not isinstance(stage, ScanningStage)  # noqa: S101 - which has no state
        begin(stage, state)
        rows = stage.step(number_of(slot_of(task[1])), waiting[task])
        return self.between.returned(rows, schema)

    def _open(self, task: Task) -> SimulatedMap:
        self.opened[task] = state = self.cluster.open(task, self.batch)
        return state.store

    def _stage(
        self, all_tasks: Sequence[Task], run: Callable[[Task], _Output], name: str
    ) -> list[_Output]:
        """Run tasks in random order; if a worker dies, rerun its tasks elsewhere."""
        tasks, lanes = [*all_tasks], name == "lanes"
        self.rng.shuffle(tasks)
        driver: FailureKind = (
            "driver dies among the lanes" if lanes else "driver dies among the shards"
        )
        worker: FailureKind = (
            "worker dies among the lanes" if lanes else "worker dies among the shards"
        )
        outputs = {}
        for number, task in enumerate(tasks):
            self.fate.pass_by(driver, number, len(tasks))
            outputs[task] = run(task)
        if (dead := self.fate.worker(worker)) is not None:
            self.befell[worker] += 1
            lost = self.cluster.kill(dead)
            outputs |= {task: run(task) for task in tasks if task in lost}
        return [*outputs.values()]
