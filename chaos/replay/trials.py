"""How the trials of a replay differ: sizes of batches, executors, tasks and shards."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

# (cores of all executors, cores of each): one, two or four executors on the local stack.
_SPREADS: Final = ((1, 1), (2, 2), (2, 1), (4, 2), (4, 1))
_TASKS_MAX: Final = 4


@dataclass(frozen=True)
class Trial:
    """How one trial is run.

    Attributes:
        number: from 1.
        max_offsets: offsets per batch at the most.
        cores: of all executors.
        executor_cores: of each.
        shards: how many the keys are spread over; never decides a row.
        tasks: how many run the shards, each of them some in turn.
    """

    number: int
    max_offsets: int
    cores: int
    executor_cores: int
    shards: int
    tasks: int

    @property
    def executors(self) -> int:
        """How many executors there are."""
        return self.cores // self.executor_cores

    def __str__(self) -> str:
        return (
            f"trial {self.number}: {self.max_offsets} offsets a batch, {self.executors} executors, "
            f"{self.shards} shards in {self.tasks} tasks"
        )


def draw_trials(count: int, seed: int, *, offsets: int, shards: int) -> list[Trial]:
    """Draw how trials are run; the sizes of batches lie between a third and a thirtieth of all.

    Args:
        count: how many.
        seed: of the draw.
        offsets: how many the range has.
        shards: of the pipeline; trials have from one to twice as many, and other keys meet in them.
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
