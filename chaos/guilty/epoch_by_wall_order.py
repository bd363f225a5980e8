"""Late epochs are released one batch early: as soon as the batch has been taken.

Defect: what waits for its epoch is sent with the batch that brings it, so that the revision which
holds a record depends on the cuts.
How one gets it: firing late panes per micro-batch, as an engine without epochs has to.
Expected: revisions come too early, and are other ones with other cuts.
"""

from __future__ import annotations

import polars as pl

from chaos.guilty.guilt import guilty
from chaos.simulator.parts import Parts
from windowing.emission.sliding import SlidingEmitter
from windowing.shard import Shard
from windowing.spec.pipeline import Pipeline
from windowing.wids import ENDED


class EagerEmitter(SlidingEmitter):
    """Sends late revisions as if their epoch had come."""

    def _revisions(self, partials: pl.DataFrame, before_us: int, after_us: int) -> pl.DataFrame:
        ahead_us = self._query.late.every_us or 0
        return super()._revisions(partials, before_us, min(after_us + ahead_us, ENDED))


class EagerShard(Shard):
    """A shard without patience."""

    def __init__(self, pipeline: Pipeline) -> None:
        super().__init__(pipeline)
        self._emitters = {query.name: EagerEmitter(query, pipeline) for query in pipeline.queries}


GUILTY = guilty(
    Parts("epoch_by_wall_order", shard=EagerShard), "deterministic", "exactly once", "closing"
)
