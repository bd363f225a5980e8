"""Defects of the fused plan: what a shard makes of chunks that were read apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter

import msgspec
import polars as pl

from chaos.planted_bugs.conditions import can_be_fused, some_query, updates
from chaos.planted_bugs.planted import plant, planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.columns import BEFORE, RELEASE
from windowing.engine.fused.scanner import Account, Provisional
from windowing.engine.fused.settler import KnownLane, Redelivered, Settler
from windowing.engine.plan import Plan
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.storage.frames import from_bytes, to_bytes
from windowing.engine.storage.parcel import Addition, Parcel
from windowing.engine.tally import Tally
from windowing.engine.wids import ENDED, NOTHING_YET
from windowing.engine.windows.sliding_lane import PARTIALS, Frontier, SlidingLanePart
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


_SETTLER = "windowing.engine.fused.settler:Settler"
_BY_ROWS = "deterministic, closing, conservation, dead letters, exactly once, no error"
_BY_COUNTS = "conservation, dead letters"
_USUAL = Wish(usual=1.0)


planted_in_settling = partial(planted, fused=True, shows_in=can_be_fused, wish=_USUAL)


# A chunk counts as on time if its lane stands exactly where its first window ends. How one gets it:
# `<=` for `<`, at an instant that times drawn in seconds hardly ever meet.
@planted_in_settling("settled_at_its_first_end", _BY_ROWS, at=f"{_SETTLER}._settled")
def at_its_first_end(
    settler: Settler,
    query: str,
    addition: Addition,
    before: Mapping[str, LaneProgress],
    partition: int,
) -> Addition | None:
    progress = before[settler._flows[query].clock.name].progress_us
    if progress == addition.due_us and [*addition.tables] == [PARTIALS]:
        return addition
    return _settled(settler, query, addition, before, partition)


_settled = Settler._settled


# A chunk that comes before its first window has ended is passed on with what is late by itself.
# How one gets it: half of a condition.
@planted_in_settling("settled_with_what_is_late", _BY_ROWS, at=f"{_SETTLER}._settled")
def with_what_is_late(
    settler: Settler,
    query: str,
    addition: Addition,
    before: Mapping[str, LaneProgress],
    partition: int,
) -> Addition | None:
    if before[settler._flows[query].clock.name].progress_us < addition.due_us:
        return addition
    return _settled(settler, query, addition, before, partition)


# A lane whose progress is that of its last chunk. How one gets it: progress "never goes back", and
# that of a chunk that was read apart does.
@planted_in_settling(
    "progress_of_the_last_chunk", f"{_BY_ROWS}, progress", at=f"{_SETTLER}._settle"
)
def with_progress_of_the_last(
    settler: Settler, lane: KnownLane, chunk: Provisional, tally: Tally
) -> Parcel:
    ended = lane.reached[settler._time].progress_us == ENDED
    parcel = _settle(settler, lane, chunk, tally)
    if not ended:
        lane.reached = parcel.reached = chunk.reached
    return parcel


_settle = Settler._settle


# Records of a chunk that are judged by the lane's past alone, without the chunk's own records that
# come before them. How one gets it: of two progresses, one is taken for the whole chunk.
@planted_in_settling("judged_by_the_past_alone", _BY_COUNTS, at=f"{_SETTLER}._count")
def by_the_past_alone(
    settler: Settler,
    chunk: Provisional,
    account: Account,
    before: Mapping[str, LaneProgress],
    tally: Tally,
) -> None:
    own = {clock: _without_its_own(data) for clock, data in account.records.items()}
    _count(settler, chunk, msgspec.structs.replace(account, records=own), before, tally)


_count = Settler._count


def _without_its_own(data: bytes) -> bytes:
    return to_bytes(from_bytes(data).with_columns(pl.lit(NOTHING_YET).alias(BEFORE)))
