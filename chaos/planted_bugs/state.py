"""Defects of a shard's state: deltas, compaction, retention, copies on workers' disks."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
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
    some_operators,
    some_query,
    updates,
)
from chaos.planted_bugs.planted import planted, replaced
from chaos.simulator.draw.wish import Wish
from windowing.engine.columns import RELEASE, RETRACTS
from windowing.engine.lane import Lane
from windowing.engine.moves import Moves
from windowing.engine.plan import Plan, plan_of
from windowing.engine.progress.clock import ClockId
from windowing.engine.progress.reached import Progress
from windowing.engine.shard import Emission, Shard
from windowing.engine.storage import tables
from windowing.engine.storage.parcel import Parcel, shard_of
from windowing.engine.storage.state import StateStore
from windowing.engine.storage.tables import ShardState, append, replace
from windowing.engine.tuning import tuning
from windowing.engine.wids import ENDED, ON_TIME, Ints
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding import LATE, SlidingShardPart
from windowing.engine.windows.sliding_lane import PARTIALS, SlidingLanePart
from windowing.model.file.pipeline import Pipeline, Query
from windowing.spark.storage.store import (
    _DIGEST_FOLLOWS,
    Copies,
    MapStateStore,
    _digest_in,
    value_key,
)


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


_BY_STATE = (
    "no error, deterministic, repeatable, dead letters, conservation, progress, closing, "
    "exactly once, early rows"
)
_COPIES, _STORE = (
    "windowing.spark.storage.store:Copies",
    "windowing.spark.storage.store:MapStateStore",
)

COPIED = {"copied_from_bytes": 0}
"""State of any size is copied."""


planted_in_copies = partial(planted, expected=_BY_STATE, tuning=COPIED)


# A copy that is not checked. How one gets it: its name is its digest, "so it has to be right".
@planted_in_copies("copy_not_checked", at=f"{_COPIES}.read")
def unchecked(copies: Copies, digest: bytes) -> bytes | None:
    try:
        return copies._file(digest).read_bytes()
    except OSError:
        return None


# A copy that is missing is an error. How one gets it: files are there, until a disk is cleaned or
# the task moves to another machine.
@planted("copy_has_to_be_there", "no error", at=f"{_COPIES}.read", tuning=COPIED)
def that_has_to_be_there(copies: Copies, digest: bytes) -> bytes | None:
    value = copies._file(digest).read_bytes()
    return value if sha256(value).digest() == digest else None


def _by_beginning(copies: Copies, digest: bytes) -> bytes | None:
    with suppress(OSError):
        value = copies._file(digest).read_bytes()
        return value if sha256(value[:64]).digest() == digest else None
    return None


# A copy that is known by how a value begins: another worker's newer value has the same name, and an
# old copy stands for it. How one gets it: to digest all of a large value costs time.
@planted_in_copies(
    "copy_by_the_values_beginning", at=f"{_COPIES}.write", also={f"{_COPIES}.read": _by_beginning}
)
def known_by_its_beginning(copies: Copies, value: bytes) -> bytes:
    digest = sha256(value[:64]).digest()
    file = copies._file(digest)
    own = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(OSError):
        own.write_bytes(value)
        own.replace(file)
    return digest


# A store that leaves the value to its copy. How one gets it: what has a copy "need not be sent",
# and is lost with the worker's disk.
@planted_in_copies("copy_in_place_of_the_state", at=f"{_STORE}.put")
def left_to_the_copy(store: MapStateStore, key: str, value: bytes) -> None:
    if store._copies is None or len(value) < tuning().copied_from_bytes:
        store._digests[key] = None
        store._put(key, value)
        return
    digest = store._digests[key] = store._copies.write(value)
    store._put(key, _DIGEST_FOLLOWS + digest)
    if store._copies.read(digest) is None:
        store._put(value_key(key), value)


# What has lost its copy has no value. How one gets it: `None` for "no copy" is returned as it is,
# and means "no such key" there.
@planted_in_copies("copy_lost_value_lost", at=f"{_STORE}.get")
def lost_with_its_copy(store: MapStateStore, key: str) -> bytes | None:
    value = store._get(key)
    digest = store._digests[key] = None if value is None else _digest_in(value)
    if digest is None:
        return value
    return store._get(value_key(key)) if store._copies is None else store._copies.read(digest)


# A large value that is written under its own key only if it has no digest yet: a changed one keeps
# its first value there, which is read where there is no copy. How one gets it: "it is stored
# already", by key and not by content.
@planted_in_copies("value_stored_once", at=f"{_STORE}.put")
def stored_once(store: MapStateStore, key: str, value: bytes) -> None:
    if store._copies is None or len(value) < tuning().copied_from_bytes:
        store._digests[key] = None
        store._put(key, value)
        return
    known = store._digests.get(key)
    digest = store._digests[key] = store._copies.write(value)
    store._put(key, _DIGEST_FOLLOWS + digest)
    if known is None:
        store._put(value_key(key), value)


_delete = MapStateStore.delete


# A key whose value is stored separately is not deleted. How one gets it: what is there is a
# digest, and the value that it stands for "is deleted with its copy".
@planted_in_copies(
    "large_value_not_deleted",
    at=f"{_STORE}.delete",
    wish=Wish(classes=("operators",)),
    shows_in=some_operators(),
)
def not_deleted_if_large(store: MapStateStore, key: str) -> None:
    value = store._get(key)
    if value is None or _digest_in(value) is None:
        _delete(store, key)
