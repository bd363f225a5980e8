"""A stopped run's state, converted for a changed pipeline: other shards, or more queries.

Rows of state move whole, by the hash of their keys, and no key's state is in two shards, so nothing
is merged: what the shards hold together is the same before and after, and `convert` checks it
before it returns anything. Progress is the lanes', and every shard has all of it. Queries that are
added begin without state (`windowing.engine.added`).

Runs without Spark, on stores that were read from a checkpoint.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import polars as pl

from windowing.engine import lane
from windowing.engine.added import check_ends, check_origins, why_not
from windowing.engine.aggregates import StateSchema
from windowing.engine.aggregates.schema import Role
from windowing.engine.columns import field_column
from windowing.engine.early import PREFIX as EARLY
from windowing.engine.early import EarlyState
from windowing.engine.effects import took_effect
from windowing.engine.fused.settler import KNOWN_LANES
from windowing.engine.plan import Plan, plan_of
from windowing.engine.progress import idle
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.rows.row_state import RowState
from windowing.engine.shard import Shard
from windowing.engine.storage import tables
from windowing.engine.storage.frames import from_bytes, to_bytes
from windowing.engine.storage.parcel import split
from windowing.engine.storage.state import MemoryStore, StateStore, check_fingerprint
from windowing.engine.storage.tables import HEAD, KEYS, STATE, ShardState
from windowing.engine.wids import ENDED
from windowing.engine.windows.part import Tables
from windowing.model import Pipeline
from windowing.model.file.versions import QueryChange, query_change
from windowing.model.fingerprint import OfTheLog, fingerprint
from windowing.model.run_errors import CheckpointMismatch

_DIGITS = 16


@dataclass(frozen=True)
class ConvertedState:
    """A run's state for a changed pipeline.

    Attributes:
        lanes: their stores, in the order given.
        shards: the stores of its shards, by number.
        digest: SHA-256 of all that the shards hold together, the same before and after.
        rows: how many rows of state that is.
    """

    lanes: tuple[MemoryStore, ...]
    shards: tuple[MemoryStore, ...]
    digest: str
    rows: int


def convert(
    before: Pipeline,
    after: Pipeline,
    lanes: Sequence[StateStore],
    shards: Sequence[StateStore],
) -> ConvertedState:
    """Convert a run's state for a pipeline with another number of shards, or more queries.

    Args:
        before: the pipeline that wrote the state.
        after: the same, but for these.
        lanes: the lanes' stores; empty where shards do the lanes' work.
        shards: the shards' stores, all of one batch; they are only read.

    Raises:
        CheckpointMismatch: the pipelines differ in more than that, a query cannot be added to this
            run, the state is another one's, or what the shards hold would not be the same.
    """
    old, new = plan_of(before), plan_of(after)
    change = _change(old, new)
    moved = _MergedState.read(old, shards)
    if moved.reached:
        check_origins(new, change.added, moved.reached)
        check_ends(new, change.ended, moved.reached)
    moved.drop(change.dropped)
    stores = tuple(moved.written(new, number) for number in range(after.shards))
    # A query that ends forgets windows beyond its end; what it holds of them is left out of both.
    held = list(_content(old, shards, new, dropped=change.dropped))
    holds = list(_content(new, stores))
    if sorted(held) != sorted(holds):
        msg = (
            f"the state in {after.shards} shards ({len(holds)} rows, {_digest(holds)}) is not that "
            f"in {len(shards)} ({len(held)} rows, {_digest(held)}): nothing was changed; keep "
            f"shards: {before.shards}, and report this"
        )
        raise CheckpointMismatch(msg)
    took_effect("conversion", len(holds))
    took_effect("other shards", len(holds) if after.shards != before.shards else 0)
    carried = tuple(_carried(before, after, store) for store in lanes)
    return ConvertedState(carried, stores, _digest(holds), len(holds))


def _change(before: Plan, after: Plan) -> QueryChange:
    """Return how the queries change; refuse two pipelines that differ in anything else."""
    old, new = before.pipeline, after.pipeline
    of_the_log = OfTheLog(new.conflicts, new.forgotten)
    if fingerprint(new.source, old.shards, new.flows, of_the_log) == old.fingerprint:
        return QueryChange()
    change = query_change(old, new, shards=old.shards)
    if change is None:
        msg = (
            f"the two files of pipeline {old.name} differ in more than shards ({old.shards} and "
            f"{new.shards}) and queries that join or leave, so state cannot be converted: "
            "change one or the other alone"
        )
        raise CheckpointMismatch(msg)
    for query in change.added:
        if (why := why_not(before, after, query)) is not None:
            msg = f"query {query} cannot be added to a run: {why}"
            raise CheckpointMismatch(msg)
    return change


def _carried(before: Pipeline, after: Pipeline, store: StateStore) -> MemoryStore:
    """Return a lane's state as the pipeline with the new number of shards would have written it."""
    own = MemoryStore()
    own.restore(dict(store.scan("")))
    data = own.get(lane.KEY)
    if data is not None:
        state = lane.STATE.decode(data)
        # It is from before lanes were added if it has had no records since.
        check_fingerprint("a lane", state.fingerprint, before)
        state.fingerprint = after.fingerprint
        own.put(lane.KEY, lane.STATE.encode(state))
    return own


@dataclass(frozen=True)
class _MergedState:
    """What shards hold, merged.

    Attributes:
        reached: the lanes' progress, by clock.
        due_us: per query, a lower bound of the progress at which it has rows to send.
        keys: by clock, the bounds of its keys.
        queries: the tables of queries whose deltas are merged.
        replaced: the tables of queries that replace theirs.
        early: what was sent of open windows, by query.
        whole: entries that every shard has alike.
    """

    reached: dict[str, list[LaneProgress]]
    due_us: dict[str, int]
    keys: dict[str, pl.DataFrame]
    queries: dict[str, Tables]
    replaced: dict[str, Tables]
    early: dict[str, EarlyState]
    whole: dict[str, bytes]

    @classmethod
    def read(cls, plan: Plan, stores: Sequence[StateStore]) -> _MergedState:
        """Read the shards of a pipeline.

        Raises:
            CheckpointMismatch: the state is another pipeline's.
        """
        shard, schemas = Shard(plan), _schemas(plan)
        merged, replaced = [], []
        for store in stores:
            held = shard.canonical_state(store)
            merged.append({name: held[name] for name in held if name in shard.parts})
            # `held` shows them; what operators continue with has columns that it leaves out.
            own = {query: RowState(store, query).tables for query in shard.replacing}
            replaced.append({query: frames for query, frames in own.items() if frames})
        heads = [shard.head(store) for store in stores if store.get(HEAD) is not None]
        reached: dict[str, list[LaneProgress]] = {}
        due_us: dict[str, int] = {}
        for head in heads:
            for clock, lanes in head.reached.items():
                known = reached.setdefault(clock, lanes)
                reached[clock] = [one.merge(other) for one, other in zip(known, lanes, strict=True)]
            for query, us in head.due_us.items():
                due_us[query] = min(due_us.get(query, ENDED), us)
        whole = {
            key: data
            for store in reversed(stores)
            for key in (KNOWN_LANES, idle.KEY)
            if (data := store.get(key)) is not None
        }
        return cls(
            reached,
            due_us,
            _frames(stores, KEYS),
            _joined(merged, schemas),
            _joined(replaced, schemas),
            _early(stores),
            whole,
        )

    def drop(self, queries: Collection[str]) -> None:
        """Forget queries; none of them can have rows."""
        for held in (self.due_us, self.queries, self.replaced, self.early):
            for query in queries:
                held.pop(query, None)

    def written(self, plan: Plan, number: int) -> MemoryStore:
        """Return the store of a new shard."""
        store = MemoryStore()
        if not self.reached:
            return store
        reached = {clock: list(lanes) for clock, lanes in self.reached.items()}
        state = ShardState(plan.pipeline.fingerprint, reached, dict(self.due_us))
        for key, data in self.whole.items():
            store.put(key, data)
        for clock in plan.clocks:
            if clock.name in self.keys and clock.key is not None:
                own = _own(self.keys[clock.name], [field_column(clock.key)], plan, number)
                if len(own):
                    store.put(KEYS + clock.name, to_bytes(own))
        routes = {flow.name: flow.route for flow in plan.flows}
        queries = {
            query: {name: _own(frame, routes[query], plan, number) for name, frame in held.items()}
            for query, held in self.queries.items()
        }
        tables.replace(store, 0, queries)
        for query, held in self.replaced.items():
            own_rows = {name: _own(f, routes[query], plan, number) for name, f in held.items()}
            RowState(store, query).replace(own_rows)
        for query, sent in self.early.items():
            own_sent = EarlyState(sent.period)
            if sent.shown is not None:
                shown = _own(from_bytes(sent.shown), routes[query], plan, number)
                own_sent.shown = to_bytes(shown)
            store.put(EARLY + query, msgspec.msgpack.encode(own_sent))
        store.put(HEAD, STATE.encode(state))
        return store


def _schemas(plan: Plan) -> dict[str, StateSchema]:
    return {flow.name: flow.schema for flow in plan.flows}


def _own(frame: pl.DataFrame, by: Sequence[str], plan: Plan, number: int) -> pl.DataFrame:
    return dict(split(frame, by, plan.shards)).get(number, frame.clear())


def _joined(
    shards: Sequence[Mapping[str, Tables]], schemas: Mapping[str, StateSchema]
) -> dict[str, Tables]:
    """Return the tables of all shards together."""
    found: dict[str, dict[str, list[pl.DataFrame]]] = {}
    for held in shards:
        for query, frames in held.items():
            for name, frame in frames.items():
                found.setdefault(query, {}).setdefault(name, []).append(frame)
    return {
        query: {name: schemas[query].concat(parts) for name, parts in frames.items()}
        for query, frames in found.items()
    }


def _frames(stores: Sequence[StateStore], prefix: str) -> dict[str, pl.DataFrame]:
    """Return the frames stored under a prefix, those of all shards together."""
    found: dict[str, list[pl.DataFrame]] = {}
    for store in stores:
        for key, data in store.scan(prefix):
            found.setdefault(key.removeprefix(prefix), []).append(from_bytes(data))
    return {name: pl.concat(parts) for name, parts in found.items()}


def _early(stores: Sequence[StateStore]) -> dict[str, EarlyState]:
    sent: dict[str, list[EarlyState]] = {}
    for store in stores:
        for key, data in store.scan(EARLY):
            one = msgspec.msgpack.decode(data, type=EarlyState)
            sent.setdefault(key.removeprefix(EARLY), []).append(one)
    found = {}
    for query, parts in sent.items():
        periods = [one.period for one in parts if one.period is not None]
        shown = [from_bytes(one.shown) for one in parts if one.shown is not None]
        whole = to_bytes(pl.concat(shown)) if shown else None
        found[query] = EarlyState(max(periods, default=None), whole)
    return found


def _content(
    plan: Plan,
    stores: Sequence[StateStore],
    after: Plan | None = None,
    dropped: Collection[str] = (),
) -> Iterator[str]:
    """Yield each row that shards hold, spelled the same whichever shard has it.

    Args:
        plan: the plan that wrote it.
        after: a plan whose queries may end earlier; None: the same.
        dropped: queries to leave out.
    """
    shard, schemas = Shard(plan), _schemas(plan)
    # Slices that differed only in windows beyond a query's end are one.
    until = None if after is None else Shard(after)
    for store in stores:
        for query, frames in shard.canonical_state(store, until).items():
            for name, frame in frames.items():
                # A frame leaves out bins that are zero in all of its rows.
                bins = {column.name for column in schemas[query].among(frame, Role.BIN)}
                yield from _spelled(f"{query}/{name}", frame, bins)
        for key, data in store.scan(KEYS):
            yield from _spelled(key, from_bytes(data))
        for key, data in store.scan(EARLY):
            if key.removeprefix(EARLY) in dropped:
                continue
            shown = msgspec.msgpack.decode(data, type=EarlyState).shown
            if shown is not None:
                yield from _spelled(key, from_bytes(shown))


def _spelled(table: str, frame: pl.DataFrame, bins: Collection[str] = ()) -> Iterator[str]:
    """Yield each row of a table, by the names of its columns; without bins that are zero."""
    names = sorted(frame.columns)
    for row in frame.select(names).iter_rows():
        cells = zip(names, row, strict=True)
        said = [(name, value) for name, value in cells if value != 0 or name not in bins]
        yield f"{table} {said!r}"


def _digest(content: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(sorted(content)).encode()).hexdigest()[:_DIGITS]
