"""Defects of converted state: for other shards, for other queries, and for lanes that joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import msgspec
import polars as pl

from chaos.planted_bugs.conditions import (
    can_be_fused,
    early,
    keyed,
    per_key,
    several_shards,
    some_flow,
    some_query,
    with_added_lanes,
)
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.convert import _frames, _MergedState
from windowing.engine.early import EarlyState
from windowing.engine.fused.settler import KNOWN_LANES
from windowing.engine.plan import Plan
from windowing.engine.progress.clock import ClockId, begin
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.shard import Shard
from windowing.engine.storage.parcel import split
from windowing.engine.storage.state import MemoryStore, StateStore
from windowing.engine.storage.tables import HEAD, STATE, ShardState
from windowing.engine.wids import ENDED
from windowing.model.file.pipeline import Pipeline
from windowing.model.source import Source

_BY_ROWS = (
    "no error, deterministic, closing, exactly once, conservation, dead letters, progress, "
    "repeatable, early rows"
)
_CONVERT = "windowing.engine.convert"
_BEGINNINGS = (
    "windowing.engine.shard:begin",
    "windowing.engine.fused.settler:begin",
    "windowing.engine.lane:begin",
)

_read, _written = _MergedState.read, _MergedState.written


def keyed_progress(pipeline: Pipeline) -> bool:
    """Whether keys in several shards have their own progress."""
    return per_key(pipeline) and some_flow(keyed, several_shards)(pipeline)


# --- other shards, other queries --------------------------------------------------------------


_NUMBERS = [1]


def _noted(plan: Plan, stores: Sequence[StateStore]) -> _MergedState:
    _NUMBERS[:] = [len(stores)]
    return _read(plan, stores)


# Rows of state that are divided by the number of shards that there were. How one gets it: of two
# plans, the one that has written them.
@planted(
    "converted_by_the_old_number_of_shards",
    _BY_ROWS,
    at=f"{_CONVERT}:_own",
    also={f"{_CONVERT}:_MergedState.read": _noted},
    shows_in=some_flow(keyed, several_shards),
)
def by_the_old_number(
    frame: pl.DataFrame, by: Sequence[str], plan: Plan, number: int
) -> pl.DataFrame:
    del plan
    return dict(split(frame, by, _NUMBERS[0])).get(number, frame.clear())


# A conversion that takes keys' own progress from the first shard. How one gets it: "progress is the
# lanes', and every shard has all of it", of which keys' is not.
@planted(
    "converted_keys_of_the_first_shard",
    _BY_ROWS,
    at=f"{_CONVERT}:_frames",
    shows_in=keyed_progress,
)
def of_the_first_shard(stores: Sequence[StateStore], prefix: str) -> dict[str, pl.DataFrame]:
    return _frames(stores[:1], prefix)


# A conversion that drops keys' own progress. How one gets it: what steps read of keys is small, and
# a new shard asks for it by another name.
@planted(
    "converted_without_keys",
    _BY_ROWS,
    at=f"{_CONVERT}:_MergedState.written",
    shows_in=keyed_progress,
)
def without_keys(moved: _MergedState, plan: Plan, number: int) -> MemoryStore:
    return _written(replace(moved, keys={}), plan, number)


# A conversion that loses what shards know of lanes. How one gets it: in the plan that was there
# first, lanes have their own state, and shards know nothing of them.
@planted(
    "converted_without_known_lanes",
    _BY_ROWS,
    at=f"{_CONVERT}:_MergedState.written",
    fused=True,
    shows_in=can_be_fused,
    wish=Wish(usual=1.0),
)
def without_known_lanes(moved: _MergedState, plan: Plan, number: int) -> MemoryStore:
    whole = {key: data for key, data in moved.whole.items() if key != KNOWN_LANES}
    return _written(replace(moved, whole=whole), plan, number)


# A conversion that begins the numbers of early rows again. How one gets it: early rows are
# "provisional", and are left to begin anew.
@planted(
    "converted_early_rows_begin_again",
    "early rows, exactly once, deterministic",
    at=f"{_CONVERT}:_early",
    also={f"{_CONVERT}:EARLY": "no early rows/"},
    changes=True,
    shows_in=some_query(early),
)
def without_early_rows(stores: Sequence[StateStore]) -> dict[str, EarlyState]:
    del stores
    return {}


# A conversion in which what is due next is that of the first shard. How one gets it: all shards
# have the same progress, and heads are taken for equal.
@planted(
    "converted_due_with_the_first_shard",
    _BY_ROWS,
    at=f"{_CONVERT}:_MergedState.read",
    shows_in=some_flow(keyed, several_shards),
)
def due_with_the_first(plan: Plan, stores: Sequence[StateStore]) -> _MergedState:
    moved = _read(plan, stores)
    data = stores[0].get(HEAD)
    return moved if data is None else replace(moved, due_us=STATE.decode(data).due_us)


# --- lanes that joined ------------------------------------------------------------------------


# A lane that joined begins before all time. How one gets it: every lane did, when the first line of
# this was written.
@planted("joined_lane_begins_at_nothing", _BY_ROWS, at=_BEGINNINGS, shows_in=with_added_lanes)
def at_nothing(clock: ClockId, source: Source, number: int) -> LaneProgress:
    del clock, source, number
    return LaneProgress()


# A lane that joined begins just before the instant at which it does. How one gets it: a bound
# excludes its instant, and a beginning does not.
@planted("joined_lane_begins_just_before", _BY_ROWS, at=_BEGINNINGS, shows_in=with_added_lanes)
def just_before(clock: ClockId, source: Source, number: int) -> LaneProgress:
    found = begin(clock, source, number)
    return (
        found if found == LaneProgress() else LaneProgress(found.progress_us - 1, found.furthest_us)
    )


# Shards wait for a lane that joined, and the lane itself knows where it begins. How one gets it:
# the beginning is needed in three places, and is forgotten in one.
@planted(
    "joined_lane_begins_in_lanes_only",
    _BY_ROWS,
    at="windowing.engine.shard:begin",
    shows_in=with_added_lanes,
)
def in_lanes_only(clock: ClockId, source: Source, number: int) -> LaneProgress:
    del clock, source, number
    return LaneProgress()


planted_in_added_lanes = partial(planted, expected=_BY_ROWS, joins=True, shows_in=with_added_lanes)


# A lane that joins is at the progress of the shard, wherever it is said to begin. How one gets it:
# of two numbers that are compared just before, the other one.
@planted_in_added_lanes("joined_lane_begins_where_the_shard_is")
class AssumingShard(Shard):
    def _join(self, store: StateStore, state: ShardState) -> None:
        highest = {clock.name: own.highest for clock, own in self._progress(store, state).items()}
        known = {name: len(lanes) for name, lanes in state.reached.items()}
        super()._join(store, state)
        for name, lanes in state.reached.items():
            for number in range(known[name], len(lanes)):
                lanes[number] = LaneProgress(highest[name], highest[name])


# A lane that joins takes the place of the last one, too. How one gets it: numbers of lanes from the
# number that there were, less one.
@planted_in_added_lanes("joined_lane_over_the_last_one")
class OverwritingShard(Shard):
    def _join(self, store: StateStore, state: ShardState) -> None:
        last = {name: len(lanes) - 1 for name, lanes in state.reached.items()}
        super()._join(store, state)
        for name, lanes in state.reached.items():
            lanes[last[name]] = lanes[-1]


# A lane that joins holds no window back. How one gets it: nothing has come from it, as from a lane
# that is idle, and that one is left out.
@planted_in_added_lanes("joined_lane_waited_for_by_nobody")
class ImpatientShard(Shard):
    def _join(self, store: StateStore, state: ShardState) -> None:
        known = {name: len(lanes) for name, lanes in state.reached.items()}
        super()._join(store, state)
        for name, lanes in state.reached.items():
            for number in range(known[name], len(lanes)):
                lanes[number] = msgspec.structs.replace(lanes[number], progress_us=ENDED)


# A lane that joins behind windows that have closed without it is not refused. How one gets it: an
# operator has said where it begins, and is believed.
@planted_in_added_lanes("joined_lane_behind_closed_windows")
class LenientShard(Shard):
    def _join(self, store: StateStore, state: ShardState) -> None:
        del store
        source = self._pipeline.source
        for clock in self._plan.clocks:
            lanes = state.reached[clock.name]
            numbers = range(len(lanes), source.partitions)
            lanes += [begin(clock, source, number) for number in numbers]
        state.fingerprint = self._pipeline.fingerprint
