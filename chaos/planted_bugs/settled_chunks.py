"""Defects in what a lane's past means for a chunk that was read apart, in the fused plan."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from msgspec.structs import replace

from chaos.planted_bugs.conditions import can_be_fused
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.columns import BEFORE
from windowing.engine.fused.scanner import Account, Provisional
from windowing.engine.fused.settler import KnownLane, Settler
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.storage.frames import from_bytes, to_bytes
from windowing.engine.storage.parcel import Addition, Parcel
from windowing.engine.tally import Tally
from windowing.engine.wids import ENDED, NOTHING_YET
from windowing.engine.windows.sliding_lane import PARTIALS

_SETTLER = "windowing.engine.fused.settler:Settler"
_BY_ROWS = "deterministic, closing, conservation, dead letters, exactly once, no error"
_BY_COUNTS = "conservation, dead letters"
_USUAL = Wish(usual=1.0)


# A chunk counts as on time if its lane stands exactly where its first window ends. How one gets it:
# `<=` for `<`, at an instant that times drawn in seconds hardly ever meet.
@planted(
    "settled_at_its_first_end",
    _BY_ROWS,
    at=f"{_SETTLER}._settled",
    fused=True,
    shows_in=can_be_fused,
    wish=_USUAL,
)
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
@planted(
    "settled_with_what_is_late",
    _BY_ROWS,
    at=f"{_SETTLER}._settled",
    fused=True,
    shows_in=can_be_fused,
    wish=_USUAL,
)
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
@planted(
    "progress_of_the_last_chunk",
    f"{_BY_ROWS}, progress",
    at=f"{_SETTLER}._settle",
    fused=True,
    shows_in=can_be_fused,
    wish=_USUAL,
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
@planted(
    "judged_by_the_past_alone",
    _BY_COUNTS,
    at=f"{_SETTLER}._count",
    fused=True,
    shows_in=can_be_fused,
    wish=_USUAL,
)
def by_the_past_alone(
    settler: Settler,
    chunk: Provisional,
    account: Account,
    before: Mapping[str, LaneProgress],
    tally: Tally,
) -> None:
    own = {clock: _without_its_own(data) for clock, data in account.records.items()}
    _count(settler, chunk, replace(account, records=own), before, tally)


_count = Settler._count


def _without_its_own(data: bytes) -> bytes:
    return to_bytes(from_bytes(data).with_columns(pl.lit(NOTHING_YET).alias(BEFORE)))
