"""Defects of a shard's state: deltas, compaction, retention, what queries share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import (
    keyed,
    retracting,
    several_lanes,
    several_queries,
    several_shards,
    sliding,
    some_flow,
    some_query,
    updates,
)
from chaos.planted_bugs.planted import planted, replaced
from windowing.engine.columns import RELEASE, RETRACTS
from windowing.engine.lane import Lane
from windowing.engine.plan import Plan, plan_of
from windowing.engine.progress.clock import ClockId
from windowing.engine.progress.reached import Progress
from windowing.engine.shard import Emission, Moves, Shard
from windowing.engine.storage import tables
from windowing.engine.storage.parcel import Parcel, shard_of
from windowing.engine.storage.state import StateStore
from windowing.engine.storage.tables import ShardState, append, replace
from windowing.engine.wids import ENDED, ON_TIME, Ints
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding import LATE, SlidingShardPart
from windowing.engine.windows.sliding_lane import PARTIALS, SlidingLanePart
from windowing.model.file.pipeline import Pipeline, Query


def of_two_clocks(pipeline: Pipeline, _: Query) -> bool:
    """Whether queries close by different clocks."""
    clocks = {flow.clock for flow in plan_of(pipeline).flows}
    return len(clocks) > 1 and all(clock.key is None for clock in clocks)


# Compaction that uses one clock for all queries. How one gets it: "the" progress of the stream.
@planted(
    "compaction_by_another_clock",
    "deterministic",
    shows_in=some_query(several_queries, of_two_clocks),
)
class OneClockShard(Shard):
    def _retained(
        self, held: Mapping[str, Tables], after: Mapping[ClockId, Progress]
    ) -> dict[str, Tables]:
        _, clock = max(self._clocks.items())
        return super()._retained(held, dict.fromkeys(after, after[clock]))


# Compaction that keeps on-time records, but not those that wait for their epoch. How one gets it:
# late records were implemented after compaction.
@planted("compaction_forgets_the_late", "deterministic", shows_in=some_query(sliding, updates))
class PunctualShardPart(SlidingShardPart):
    def retained(self, tables: Tables, after: Progress) -> Tables:
        return super().retained({PARTIALS: tables[PARTIALS].filter(~LATE)}, after)


# Compaction that keeps the query that triggered it, and loses the others. How one gets it: a read
# that was narrowed later, for speed.
@planted(
    "compaction_keeps_one_query",
    "deterministic",
    at="windowing.engine.storage.tables:replace",
    shows_in=some_query(several_queries),
)
def of_the_first(store: StateStore, deltas: int, queries: Mapping[str, Tables]) -> None:
    first = min(queries, default="")
    replace(store, deltas, {name: part for name, part in queries.items() if name == first})


# Compaction that writes a new base but keeps the deltas. How one gets it: deletion is left to a
# later clean-up.
@planted("compaction_keeps_the_deltas", "deterministic, exactly once")
class KeepingShard(Shard):
    def _compact(
        self,
        store: StateStore,
        state: ShardState,
        held: Mapping[str, Tables],
        moved: Moves,
    ) -> None:
        deltas, state.deltas = state.deltas, 0
        super()._compact(store, state, held, moved)
        state.deltas = deltas


# Compaction that deletes one delta more than it merged. How one gets it: an off-by-one between an
# inclusive and an exclusive end.
@planted("compaction_loses_the_newest_delta", "deterministic")
class ShortShard(Shard):
    def _compact(
        self,
        store: StateStore,
        state: ShardState,
        held: Mapping[str, Tables],
        moved: Moves,
    ) -> None:
        store.delete(f"partials/delta-{state.deltas - 1:06d}")
        older = tables.read(store, self._schemas, state.deltas - 1)
        super()._compact(store, state, {name: older[name] for name in held if name in older}, moved)


# Compaction that merges late records with those on time. How one gets it: a column missing in a
# GROUP BY.
@planted("compaction_merges_releases", "deterministic", shows_in=some_query(sliding, updates))
class MeltingShardPart(SlidingShardPart):
    def retained(self, tables: Tables, after: Progress) -> Tables:
        melted = tables[PARTIALS].with_columns(pl.lit(ON_TIME, dtype=pl.Int64).alias(RELEASE))
        return super().retained({PARTIALS: melted}, after)


# Deltas that are all written under the same number. How one gets it: a counter that is not part
# of the state.
@planted(
    "deltas_overwrite_each_other",
    "no error, deterministic",
    at="windowing.engine.storage.tables:append",
)
def always_first(
    store: StateStore, number: int, parcels: Sequence[Parcel], queries: Collection[str]
) -> bool:
    del number
    return append(store, 0, parcels, queries)


# Queries that are all evaluated when the first query is due. How one gets it: a timer per key,
# registered by the first query.
@planted(
    "due_time_of_the_first_query", "closing, deterministic", shows_in=some_query(several_queries)
)
class OneTimerShard(Shard):
    def _append(self, store: StateStore, state: ShardState, parcels: Sequence[Parcel]) -> None:
        super()._append(store, state, parcels)
        first = min(state.due_us, default=None)
        if first is not None:
            state.due_us = dict.fromkeys(state.due_us, state.due_us[first])


# Shards whose frames have a column only where a row needs it. How one gets it: every reader
# except the sink has a default for missing columns.
@planted(
    "frames_of_two_schemas",
    "no error",
    shows_in=some_query(retracting, updates, keyed, several_shards),
)
class SparingShard(Shard):
    def _emit(self, store: StateStore, state: ShardState, moved: Moves, emission: Emission) -> None:
        super()._emit(store, state, moved, emission)
        for query, rows in emission.results.items():
            if RETRACTS in rows.columns and not rows[RETRACTS].any():
                emission.results[query] = rows.drop(RETRACTS)


def salted(salt: int, keys: pl.DataFrame, shards: int) -> pl.Series:
    """Return the shard of each key, by a salted hash."""
    return (shard_of(keys, shards) + salt) % shards


# Keys whose shard depends on their lane. How one gets it: a hash seeded per process, with one
# process per lane.
@planted(
    "hash_of_the_lane",
    "exactly once, deterministic, closing",
    shows_in=some_flow(keyed, several_lanes, several_shards),
)
class SaltedLane(Lane):
    def step(self, store: StateStore, chunks: Sequence[Any]) -> list[Parcel]:
        salt = partial(salted, self._partition)
        with replaced({"windowing.engine.storage.parcel:shard_of": salt}):
            return super().step(store, chunks)


class SeededLane(Lane):
    """Draws a new seed at each restart."""

    def __init__(self, plan: Plan, seeds: Iterator[int], partition: int) -> None:
        super().__init__(plan, partition)
        self._seed = next(seeds)

    def step(self, store: StateStore, chunks: Sequence[Any]) -> list[Parcel]:
        salt = partial(salted, self._seed)
        with replaced({"windowing.engine.storage.parcel:shard_of": salt}):
            return super().step(store, chunks)


# Keys whose shard depends on the process that hashes them. How one gets it: `hash()` of a string,
# whose seed is drawn when a process starts.
@planted(
    "hash_of_the_process",
    "exactly once, deterministic, closing",
    shows_in=some_flow(keyed, several_shards),
)
def with_seeds(plan: Plan) -> Callable[[int], Lane]:
    return partial(SeededLane, plan, count())


_all = tables._cold_pieces


# Cold state, of which the newest piece is not read when it is due. How one gets it: an
# off-by-one between the number of pieces and the number of the last one.
@planted(
    "newest_piece_not_read", "deterministic", at="windowing.engine.storage.tables:_cold_pieces"
)
def all_but_one(store: StateStore, pieces: int) -> Iterator[tuple[str, bytes]]:
    return _all(store, max(pieces - 1, 0))


def of_another_mode(pipeline: Pipeline, query: Query) -> bool:
    """It is late in another mode than the first query."""
    return query.late.mode != pipeline.flows[0].late.mode


# Queries that all use the first query's late mode. How one gets it: the lane reads the mode once
# and keeps it.
@planted(
    "queries_share_late",
    "deterministic, conservation, dead letters",
    shows_in=some_query(sliding, of_another_mode),
)
class SharingLane(Lane):
    def __init__(self, plan: Plan, *args: Any, **options: Any) -> None:
        super().__init__(plan, *args, **options)
        mode = plan.flows[0].query.late.mode
        for part in self.parts.values():
            if isinstance(part, SlidingLanePart):
                query = part._query
                late = query.late.model_copy(update={"mode": mode})
                part._query = query.model_copy(update={"late": late})


# State that is dropped at its window's end, although late records may still come. How one gets
# it: purging state when its window fires.
@planted("window_forgotten_at_its_end", "deterministic", shows_in=some_query(sliding, updates))
class PurgingShardPart(SlidingShardPart):
    def _gone(self, units: pl.DataFrame, after: Progress) -> Ints:
        return np.minimum(self._numbering.ended_by(after.of(units)), ENDED - 1)
