"""Windows that close when progress is past their end, not when it is there.

Defect: `P > end` for `P >= end`.
How one gets it: one character.
Expected: rows come one record too late, and those whose end is the last progress never come.
"""

from __future__ import annotations

from chaos.guilty.guilt import guilty
from chaos.simulator.parts import Parts
from windowing.emission.sliding import SlidingEmitter
from windowing.shard import Shard
from windowing.spec.pipeline import Pipeline
from windowing.wids import ENDED, NOTHING_YET


class HesitantEmitter(SlidingEmitter):
    """Sees the windows one microsecond late."""

    def _ended_between(self, before_us: int, after_us: int) -> tuple[int, int]:
        return super()._ended_between(_less(before_us), _less(after_us))

    def next_due_us(self, tables: object, after: object) -> int:  # noqa: D102
        return NOTHING_YET  # look every time


def _less(progress_us: int) -> int:
    return progress_us if progress_us in (ENDED, NOTHING_YET) else progress_us - 1


class HesitantShard(Shard):
    """A shard with the wrong comparison."""

    def __init__(self, pipeline: Pipeline) -> None:
        super().__init__(pipeline)
        self._emitters = {q.name: HesitantEmitter(q, pipeline) for q in pipeline.queries}


GUILTY = guilty(Parts("closes_after_end", shard=HesitantShard), "deterministic", "closing")
