"""Defects in what a lane's past means for a chunk that was read apart, in the fused plan."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import can_be_fused, dropping, several_queries, some_query
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.columns import AT, BEFORE
from windowing.engine.fused.provisional import Account, Provisional
from windowing.engine.fused.settler import KnownLane, Settler, _as_scanned
from windowing.engine.progress.reached import Reached
from windowing.engine.storage.frames import from_bytes
from windowing.engine.storage.parcel import Addition, Parcel
from windowing.engine.tally import Tally
from windowing.engine.wids import ENDED
from windowing.engine.windows.part import Scan
from windowing.engine.windows.sliding_lane import PARTIALS
from windowing.model.file.pipeline import Pipeline

_SETTLER = "windowing.engine.fused.settler:Settler"
_BY_ROWS = "deterministic, closing, conservation, dead letters, exactly once, no error"
_BY_COUNTS = "conservation, dead letters"
_USUAL = Wish(usual=1.0)


def _of_several_queries(pipeline: Pipeline) -> bool:
    return can_be_fused(pipeline) and some_query(several_queries, dropping)(pipeline)


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
    settler: Settler, query: str, addition: Addition, before: Mapping[str, Reached], partition: int
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
    settler: Settler, query: str, addition: Addition, before: Mapping[str, Reached], partition: int
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
    before: Mapping[str, Reached],
    tally: Tally,
) -> None:
    _counted(settler, chunk, account, before, tally, alone=True)


# A chunk that is judged by its own records alone if its lane stands exactly where that turns. How
# one gets it: `<=` for `<`.
@planted(
    "judged_apart_at_the_turn",
    _BY_COUNTS,
    at=f"{_SETTLER}._count",
    fused=True,
    shows_in=can_be_fused,
    wish=_USUAL,
)
def apart_at_the_turn(
    settler: Settler,
    chunk: Provisional,
    account: Account,
    before: Mapping[str, Reached],
    tally: Tally,
) -> None:
    _counted(settler, chunk, account, before, tally, turn=1)


# All queries of a chunk are judged anew, or none, by what the first one needs. How one gets it: the
# condition is taken out of the loop.
@planted(
    "judged_as_the_first_query",
    _BY_COUNTS,
    at=f"{_SETTLER}._count",
    fused=True,
    shows_in=_of_several_queries,
    wish=_USUAL,
)
def as_the_first_query(
    settler: Settler,
    chunk: Provisional,
    account: Account,
    before: Mapping[str, Reached],
    tally: Tally,
) -> None:
    turns = next(iter(account.fates.values())).turns
    for fate in account.fates.values():
        fate.turns = turns
    _counted(settler, chunk, account, before, tally)


def _counted(
    settler: Settler,
    chunk: Provisional,
    account: Account,
    before: Mapping[str, Reached],
    tally: Tally,
    *,
    alone: bool = False,
    turn: int = 0,
) -> None:
    """Count as `Settler._count` does, apart from a slip."""
    tally.take(pl.Series([chunk.first, chunk.last]), account.data, from_bytes(account.bad))
    for name, fate in account.fates.items():
        clock = settler._flows[name].clock.name
        if before[clock].progress_us < fate.turns + turn:
            tally.judge(name, _as_scanned(fate))
            continue
        records = account.records[clock].read()
        own, past = records[BEFORE].to_numpy(), before[clock].progress_us
        held = np.full(len(own), past) if alone else np.maximum(own, past)
        scan = Scan(chunk.partition, records, records[AT].to_numpy(), held)
        tally.judge(name, settler.parts[name].judge(scan))
