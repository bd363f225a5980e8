"""Defects of generators, bounds, keyed progress, and the minimum over lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from unittest.mock import patch

import msgspec
import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import (
    another_attribute,
    by_generator,
    idle,
    per_key,
    several_lanes,
    some_flow,
    some_query,
)
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import KEY_BOUND, KIND, TIME, field_column
from windowing.engine.progress import Generator, generator_of
from windowing.engine.progress.clock import AttributeClock, ClockState, Course, Rows, _per_key
from windowing.engine.progress.generators import (
    Adaptive,
    Heartbeat,
    OrderedPer,
    SlackRows,
    SlackTime,
)
from windowing.engine.progress.idle import left_out
from windowing.engine.progress.reached import LaneProgress, StreamProgress
from windowing.engine.reading.pack import BOUND, BOUND_ON, DATA
from windowing.engine.shard import Shard
from windowing.engine.storage.parcel import Parcel
from windowing.engine.storage.state import StateStore
from windowing.engine.storage.tables import ShardState
from windowing.engine.wids import ENDED, NOTHING_YET, Ints, lowered
from windowing.model import progress
from windowing.model.file.pipeline import Pipeline
from windowing.model.progress import Slack


# Adaptive slack that knows only the lags of the current batch. How one gets it: statistics that
# are kept per task.
@planted(
    "adaptive_forgets",
    "progress, deterministic, dead letters, conservation",
    shows_in=by_generator(progress.Adaptive),
)
class FreshAdaptive(Adaptive):
    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        del memory[1:]
        return super().bounds(records, memory)


# Adaptive slack over N + 1 records. How one gets it: append first, then compare the length with
# the wrong sign.
@planted(
    "adaptive_over_one_more",
    "progress, deterministic, dead letters, conservation",
    shows_in=by_generator(progress.Adaptive),
)
class LongAdaptive(Adaptive):
    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        with patch.object(self, "_over", self._over + 1):
            return super().bounds(records, memory)


# A lane that reads the bound of a control record as inclusive. How one gets it: watermarks are
# inclusive elsewhere, for example in Flink.
@planted("bound_is_inclusive", "progress, deterministic, dead letters, conservation")
class InclusiveClock(AttributeClock):
    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:
        said = (pl.col(KIND) == BOUND).cast(pl.Int64)
        further = rows.all.with_columns((pl.col(TIME) + said).alias(TIME))
        return super().run(replace(rows, all=further), state, keys)


# Slack in rows whose buffer is empty at the start of every batch. How one gets it: a generator
# that each task creates anew.
@planted(
    "heap_not_kept",
    "progress, deterministic, dead letters, conservation",
    shows_in=by_generator(progress.SlackRows),
)
class FreshRows(SlackRows):
    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        memory.clear()
        return super().bounds(records, memory)


# Slack in rows whose buffer holds one row too few. How one gets it: the heap's size is taken
# after the push instead of before it.
@planted(
    "heap_one_short",
    "progress, deterministic, dead letters, conservation",
    shows_in=by_generator(progress.SlackRows),
)
class ShortRows(SlackRows):
    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        with patch.object(self, "_rows", max(self._rows - 1, 0)):
            return super().bounds(records, memory)


# Heartbeats that ignore records still in transit. How one gets it: "it is 12:00, so everything
# before 12:00 has arrived".
@planted(
    "heartbeat_without_way",
    "progress, conservation, dead letters, deterministic",
    shows_in=by_generator(progress.Heartbeat),
)
class InstantHeartbeat(Heartbeat):
    def observed(self, instants_us: Ints) -> Ints:
        return lowered(instants_us, max(self._behind_us - 1, 0))


# Progress per key that is the key's newest bound, not its largest. How one gets it: assigning to
# a map.
@planted(
    "keyed_bound_falls_back",
    "deterministic, dead letters, conservation",
    at="windowing.engine.progress.clock:_per_key",
    shows_in=per_key,
)
def newest(
    rows: Rows, key: str, promised: Ints, keys: pl.DataFrame | None
) -> tuple[Ints, pl.DataFrame, pl.DataFrame]:
    events = rows.all.select(key, pl.Series(promised).alias(KEY_BOUND))
    events = events.filter(pl.Series(promised != NOTHING_YET))
    last = events.group_by(key).agg(pl.col(KEY_BOUND).last())
    before, all_, moved = _per_key(rows, key, promised, keys)
    fallen = all_.join(last, on=key, how="left", nulls_equal=True, suffix="_last").select(
        key, pl.coalesce("bound_last", KEY_BOUND).alias(KEY_BOUND)
    )
    return np.asarray(before), fallen.sort(key), moved


def in_several_lanes(pipeline: Pipeline) -> bool:
    """Whether keys have their own progress, in more than one lane."""
    return per_key(pipeline) and pipeline.source.partitions > 1


# Progress per key that follows the first lane to send a bound for the key. How one gets it: a key
# is assumed to occur in one lane only.
@planted(
    "keyed_bound_of_one_lane",
    "closing, deterministic",
    at="windowing.engine.progress.clock:StreamProgress",
    shows_in=in_several_lanes,
)
class FirstLaneProgress(StreamProgress):
    @cached_property
    def _by_key(self) -> pl.DataFrame | None:
        true = StreamProgress(self.lanes, self.key, self.keys)._by_key
        if true is None or self.keys is None:
            return true
        most = self.keys.group_by(self.key).agg(pl.col(KEY_BOUND).max())
        joined = true.join(most, on=self.key, how="left", nulls_equal=True)
        further = pl.max_horizontal("progress", KEY_BOUND)
        return joined.select(self.key, further.alias("progress"), "furthest")


# Bounds for one key that apply to the whole lane. How one gets it: a reader of control records
# that ignores unknown fields.
@planted(
    "keyed_bound_of_the_lane",
    "progress, conservation, dead letters, deterministic",
    shows_in=by_generator(progress.Punctuation, progress.OrderedPer),
)
class BroadClock(AttributeClock):
    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:
        kind = pl.when(pl.col(KIND) == BOUND_ON).then(pl.lit(BOUND)).otherwise(KIND)
        broad = rows.all.with_columns(kind.cast(pl.UInt8).alias(KIND))
        return super().run(replace(rows, all=broad), state, keys)


# Progress per key that ignores the lane's bounds. How one gets it: two kinds of punctuation in
# two tables, only one of which is read.
@planted(
    "keys_without_the_lane",
    "closing, deterministic",
    at="windowing.engine.progress.clock:StreamProgress",
    shows_in=per_key,
)
class KeysProgress(StreamProgress):
    @cached_property
    def _by_key(self) -> pl.DataFrame | None:
        true = StreamProgress(self.lanes, self.key, self.keys)._by_key
        if true is None or self.keys is None or self.stream_us == ENDED:
            return true
        least = self.keys.group_by(self.key).agg(pl.col(KEY_BOUND).min())
        joined = true.join(least, on=self.key, how="left", nulls_equal=True)
        own = pl.min_horizontal("progress", KEY_BOUND)
        return joined.select(self.key, own.alias("progress"), "furthest")


def of_members(pipeline: Pipeline) -> bool:
    """Whether the pipeline names its sub-streams."""
    given = pipeline.source.disorder
    return isinstance(given, progress.OrderedPer) and given.members is not None


# Sorted sub-streams that count only once seen. How one gets it: a minimum over a map that is
# filled as keys appear.
@planted(
    "member_not_awaited", "progress, deterministic, dead letters, conservation", shows_in=of_members
)
class ImpatientMembers(OrderedPer):
    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        before = list(memory) or [NOTHING_YET] * len(self._members)
        true = super().bounds(records, memory)
        ts_us, named = records[TIME].to_numpy(), records[field_column(self._attr)]
        behind = np.full(len(records), np.iinfo(np.int64).max)
        for member, newest_us in zip(self._members, before, strict=True):
            own = (named == member).fill_null(value=False).to_numpy()
            newest = np.maximum.accumulate(np.where(own, ts_us, NOTHING_YET))
            newest = np.maximum(newest, newest_us)
            behind = np.where(newest == NOTHING_YET, behind, np.minimum(behind, newest))
        return np.where(behind == np.iinfo(np.int64).max, true, behind)


# A stream that has ended as soon as one of its lanes has. How one gets it: one "done" flag, set
# by the first lane to end.
@planted("one_end_ends_all", "closing, deterministic", shows_in=some_flow(several_lanes))
class HastyShard(Shard):
    def _append(self, store: StateStore, state: ShardState, parcels: Sequence[Parcel]) -> None:
        super()._append(store, state, parcels)
        for lanes in state.reached.values():
            if any(lane.progress_us == ENDED for lane in lanes):
                lanes[:] = [msgspec.structs.replace(lane, progress_us=ENDED) for lane in lanes]


# Windows over a numeric field that advance with bounds on time. How one gets it: one watermark
# for all windows.
@planted(
    "other_attribute_by_time",
    "deterministic, closing, conservation, dead letters",
    shows_in=some_query(another_attribute),
)
class OneClock(AttributeClock):
    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:
        if self._other is None or self._key is not None:
            return super().run(rows, state, keys)
        timed = pl.when(pl.col(KIND) == DATA).then(self._other).otherwise(TIME)
        moved = replace(
            rows,
            all=rows.all.with_columns(timed.alias(TIME)),
            data=rows.data.with_columns(pl.col(self._other).alias(TIME)),
        )
        with patch.object(self, "_other", None):
            return super().run(moved, state, keys)


# A lane whose progress is its newest bound, not its largest. How one gets it: an assignment
# instead of a maximum.
@planted("progress_falls_back", "progress, conservation, dead letters, deterministic")
class NewestClock(AttributeClock):
    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:
        course = super().run(rows, state, keys)
        if not len(rows.data) or state.reached.progress_us == ENDED or self._other is not None:
            return course
        newest = int(self._generator.bounds(rows.data[-1:], [*state.memory])[0])
        state.reached = msgspec.structs.replace(
            state.reached, progress_us=min(state.reached.progress_us, newest)
        )
        return replace(course, reached=state.reached)


# A shard that takes the fastest lane's progress for the stream's. How one gets it: one watermark
# from the largest time seen in any partition, as Spark's is.
@planted("quickest_lane_decides", "closing, deterministic")
class HurriedShard(Shard):
    def _append(self, store: StateStore, state: ShardState, parcels: Sequence[Parcel]) -> None:
        super()._append(store, state, parcels)
        for lanes in state.reached.values():
            quickest = max(lanes, key=lambda lane: lane.progress_us)
            lanes[:] = [quickest] * len(lanes)


# An idle time-out that closes windows instead of showing them early. How one gets it:
# `withIdleness`.
@planted("silent_lane_closes", "closing, deterministic", shows_in=idle)
class IdleShard(Shard):
    def _append(self, store: StateStore, state: ShardState, parcels: Sequence[Parcel]) -> None:
        super()._append(store, state, parcels)
        if self._idle is None:
            return
        heard = {parcel.partition for parcel in parcels}
        for lanes in state.reached.values():
            silent = [number for number in range(len(lanes)) if number not in heard]
            lanes[:] = left_out(lanes, silent)


# A shard that waits only for lanes already seen. How one gets it: idle sources are left out of
# the minimum (`withIdleness`).
@planted("silent_lane_ignored", "closing, deterministic")
class ImpatientShard(Shard):
    def _append(self, store: StateStore, state: ShardState, parcels: Sequence[Parcel]) -> None:
        super()._append(store, state, parcels)
        for lanes in state.reached.values():
            known = [lane for lane in lanes if lane.progress_us != NOTHING_YET]
            least = min(known, key=lambda lane: lane.progress_us, default=LaneProgress())
            lanes[:] = [least if lane.progress_us == NOTHING_YET else lane for lane in lanes]


class OnceHeartbeat(Heartbeat):
    def __init__(self, data: progress.Heartbeat, lane: str) -> None:
        super().__init__(data, lane)
        self._own_us -= dict(data.sources)[lane].skew_us


# Heartbeats that subtract clock skew once instead of twice. How one gets it: the formula for a
# receiver with a clock, used without one.
@planted(
    "skew_counted_once",
    "progress, conservation, dead letters, deterministic",
    at="windowing.engine.progress.clock:generator_of",
    shows_in=by_generator(progress.Heartbeat),
)
def once(disorder: progress.Disorder, lane: str) -> Generator:
    if isinstance(disorder, progress.Heartbeat):
        return OnceHeartbeat(disorder, lane)
    return generator_of(disorder, lane)


def by_slack(pipeline: Pipeline) -> bool:
    return isinstance(pipeline.source.disorder, Slack)


# A lane whose bound is one microsecond higher than its slack allows. How one gets it: an
# inclusive bound converted to an exclusive one.
@planted(
    "slack_one_short", "progress, deterministic, dead letters, conservation", shows_in=by_slack
)
class ShortSlack(SlackTime):
    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        return super().bounds(records, memory) + 1
