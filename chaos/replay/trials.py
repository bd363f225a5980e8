"""The trials of a replay, which differ in batch size, executors, tasks and shards."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

# (cores of all executors, cores of each): one, two or four executors on the local stack.
_SPREADS: Final = ((1, 1), (2, 2), (2, 1), (4, 2), (4, 1))
_TASKS_MAX: Final = 4


@dataclass(frozen=True)
class Trial:
    """The settings of one trial.

    Attributes:
        number: number of the trial, from 1.
        cores: total number of cores.
        shards: number of shards for the keys; does not affect the rows.
        tasks: number of tasks that run the shards.
    """

    number: int
    max_offsets: int
    cores: int
    executor_cores: int
    shards: int
    tasks: int

    @property
    def executors(self) -> int:
        """Number of executors."""
        return self.cores // self.executor_cores

    def __str__(self) -> str:
        return (
            f"trial {self.number}: {self.max_offsets} offsets a batch, {self.executors} executors, "
            f"{self.shards} shards in {self.tasks} tasks"
        )


def draw_trials(count: int, seed: int, *, offsets: int, shards: int) -> list[Trial]:
    """Draw the settings of trials, with batches between a third and a thirtieth of the range.

    The range has `offsets`. Trials have from one shard to twice as many as the pipeline.
    """
    rng = random.Random(seed)
    spreads = [*_SPREADS]
    rng.shuffle(spreads)
    trials = []
    for number in range(1, count + 1):
        batches = rng.uniform(3, 30)
        cores, each = spreads[(number - 1) % len(spreads)]
        spread = (rng.randint(1, 2 * shards), rng.randint(1, _TASKS_MAX))
        trials.append(Trial(number, max(1, round(offsets / batches)), cores, each, *spread))
    return trials
