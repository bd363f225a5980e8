"""Defects of the fused plan: what a shard makes of chunks that were read apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

import polars as pl

from chaos.planted_bugs.conditions import can_be_fused, some_query, updates
from chaos.planted_bugs.planted import plant, planted
from windowing.engine.columns import RELEASE
from windowing.engine.fused.scanner import Provisional
from windowing.engine.fused.settler import Redelivered, Settler
from windowing.engine.plan import Plan
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.storage.parcel import Addition
from windowing.engine.windows.sliding_lane import Frontier, SlidingLanePart
from windowing.model.file.pipeline import Pipeline


# Chunks of a lane that are composed in the order of their arrival. How one gets it: in a test,
# one task reads a partition, and its chunks come in order.
@planted(
    "chunks_as_they_come",
    "deterministic, conservation, exactly once",
    fused=True,
    shows_in=can_be_fused,
)
class HastySettler(Settler):
    def _in_order(self, chunks: Sequence[Provisional]) -> list[Provisional]:
        return sorted(chunks, key=attrgetter("partition"))


# A shard that takes every chunk for the first of its lane. How one gets it: the progress is
# advanced before the chunk is settled in a test, and never in a job.
@planted("past_forgotten", "deterministic, closing", fused=True, shows_in=can_be_fused)
class ForgetfulSettler(Settler):
    def _settled(
        self, query: str, addition: Addition, before: Mapping[str, LaneProgress], partition: int
    ) -> Addition | None:
        return super()._settled(query, addition, dict.fromkeys(before, LaneProgress()), partition)


class StaleLanePart(SlidingLanePart):
    """Keeps the release of the chunk."""

    def _raised(self, scanned: pl.DataFrame, before: int) -> Frontier:
        return replace(super()._raised(scanned, before), release=scanned[RELEASE].to_numpy())


def _shows(pipeline: Pipeline) -> bool:
    return can_be_fused(pipeline) and some_query(updates)(pipeline)


# Late records that wait for the epoch of their chunk, not of their lane. How one gets it:
# windows are raised, and the third of three numbers is forgotten.
@planted("release_not_raised", "deterministic, closing", fused=True, shows_in=_shows)
class StaleSettler(Settler):
    def __init__(self, plan: Plan, redelivered: Redelivered = "error") -> None:
        super().__init__(plan, redelivered)
        plant(self, StaleLanePart)
