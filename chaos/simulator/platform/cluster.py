"""The simulated cluster: workers that run tasks and keep their state in memory between batches."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from chaos.simulator.platform.disks import damage
from chaos.simulator.platform.stages import ScanningStage, SimulatedLanes, SimulatedShards
from chaos.simulator.platform.state import SimulatedMap, StateFiles, Task, Values
from windowing.spark.storage.store import Copies

Engine = ScanningStage | SimulatedLanes | SimulatedShards


@dataclass
class HeldState:
    """A task's state in a worker's memory."""

    version: int
    values: Values


@dataclass
class Worker:
    """A worker process: the engines of its tasks, and their states at some version.

    Attributes:
        folder: for its copies of large state; None: it keeps none.
    """

    folder: Path | None
    engines: dict[Task, Engine] = field(default_factory=dict)
    held: dict[Task, HeldState] = field(default_factory=dict)


@dataclass
class OpenState:
    """A task's state while a batch works on it; uncommitted until `SimulatedCluster.commit`."""

    version: int
    before: Values
    store: SimulatedMap


class SimulatedCluster:
    """Workers, and which task runs on which.

    Args:
        build: makes the engine of a task, given the copies of its worker.
        folder: makes the folder of a worker's copies; None: there are none.

    Attributes:
        restarts: how often the workers were started anew.
    """

    def __init__(
        self,
        files: StateFiles,
        tasks: list[Task],
        build: Callable[[Task, Copies | None], Engine],
        folder: Callable[[], Path] | None = None,
    ) -> None:
        self._files, self._build, self._folder = files, build, folder
        self._index = {task: index for index, task in enumerate(tasks)}
        self._workers = [self._start(), self._start()]
        self._shift = self.restarts = 0

    def restart(self, workers: int = 0) -> None:
        """Start new workers; 0: as many as before."""
        self._workers = [self._start() for _ in range(workers or len(self._workers))]
        self.restarts += 1

    def damage_copies(self, rng: random.Random) -> int:
        """Damage some copies of state; return how many."""
        return damage([one.folder for one in self._workers if one.folder is not None], rng)

    def move(self, by: int) -> bool:
        """Move every task `by` workers on; return whether any task changed its worker."""
        self._shift += by
        return by % len(self._workers) != 0

    def kill(self, number: int) -> set[Task]:
        """Replace a worker by a new one; return the tasks that it had."""
        number %= len(self._workers)
        self._workers[number] = self._start()
        return {task for task in self._index if self._place(task) == number}

    def engine(self, task: Task) -> Engine:
        """Return the task's engine on its current worker."""
        worker = self._worker(task)
        if task not in worker.engines:
            copies = None if worker.folder is None else Copies(worker.folder)
            worker.engines[task] = self._build(task, copies)
        return worker.engines[task]

    def open(self, task: Task, version: int) -> OpenState:
        """Open a task's state at a version.

        Raises:
            StateDamaged: the state must be loaded from files, and they are damaged.
        """
        held = self._worker(task).held.get(task)
        if held is None or not self.usable(held, version):
            held = HeldState(version, self._files.load(task, version))
        return OpenState(version, held.values, SimulatedMap(held.values))

    def usable(self, held: HeldState, version: int) -> bool:
        """Whether the state in a worker's memory has the right version."""
        return held.version == version

    def commit(self, task: Task, state: OpenState) -> None:
        """Commit a task's state after a batch as the next version."""
        after = state.store.snapshot()
        self._files.commit(task, state.version + 1, state.before, after)
        self._worker(task).held[task] = HeldState(state.version + 1, after)

    def _start(self) -> Worker:
        return Worker(None if self._folder is None else self._folder())

    def _worker(self, task: Task) -> Worker:
        return self._workers[self._place(task)]

    def _place(self, task: Task) -> int:
        return (self._index[task] + self._shift) % len(self._workers)
