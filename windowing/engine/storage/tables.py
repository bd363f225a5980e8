"""The tables of a shard's queries in its store: a base, deltas, and cold pieces.

A batch appends its additions. A step that makes rows due reads all of them, and merges them into a
new base once the deltas hold as much: then rewriting the base costs no more than what has been
written since. So a batch's writes are proportional to the change, not to the state; and where
windows close soon after their records, as tumbling ones do, little is ever stored. What is not due
for long lies in cold pieces, which are read only when it is (`windowing.engine.storage.cold`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
import polars as pl

from windowing.engine.aggregates import StateSchema
from windowing.engine.columns import KEY_BOUND, PARTITION
from windowing.engine.effects import took_effect
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.storage.cold import ColdState
from windowing.engine.storage.formats import Format
from windowing.engine.storage.frames import from_bytes, to_bytes
from windowing.engine.storage.parcel import Addition, Parcel
from windowing.engine.storage.state import StateStore
from windowing.engine.windows.part import Tables

HEAD, KEYS = "head", "keys/"
_PREFIX = "partials/"
_BASE, _DELTA, _COLD = f"{_PREFIX}base", f"{_PREFIX}delta-", f"{_PREFIX}far-"

# The tables per query; in a delta also per lane, as received.
Base = dict[str, dict[str, bytes]]
Delta = dict[str, list[tuple[int, dict[str, bytes]]]]


class ShardState(msgspec.Struct, array_like=True):
    """The head of a shard's state; tables of queries and of keys are stored beside it.

    Attributes:
        fingerprint: of the pipeline that wrote it.
        reached: the lanes' progress, by clock name and partition.
        due_us: per query, the earliest progress at which some of its state makes a row due.
        cold: what lies in cold pieces.
    """

    fingerprint: str
    reached: dict[str, list[LaneProgress]]
    due_us: dict[str, int] = {}
    deltas: int = 0
    cold: ColdState = msgspec.field(default_factory=ColdState)


STATE = Format("a shard's state", 1, ShardState)
"""The stored format."""


def append_keys(store: StateStore, name: str, parcels: Sequence[Parcel]) -> None:
    """Apply the parcels' bounds for one clock's keys."""
    stored = store.get(KEYS + name)
    frames = [] if stored is None else [from_bytes(stored)]
    for parcel in parcels:
        if name in parcel.keys:
            lane = pl.lit(parcel.partition, dtype=pl.Int32)
            frames.append(from_bytes(parcel.keys[name]).with_columns(lane.alias(PARTITION)))
    joined = pl.concat(frames, how="diagonal")
    names = [column for column in joined.columns if column != KEY_BOUND]
    keys = joined.group_by(names).agg(pl.col(KEY_BOUND).max()).sort(names)
    store.put(KEYS + name, to_bytes(keys))


def append(
    store: StateStore, number: int, parcels: Sequence[Parcel], queries: Collection[str]
) -> bool:
    """Store the parcels' additions as the delta of this number; False: they add nothing.

    Args:
        number: of the delta.
        queries: the queries whose additions are merged.
    """
    delta: Delta = {}
    for parcel in parcels:
        for query, addition in parcel.queries.items():
            if query not in queries:
                continue
            delta.setdefault(query, []).append((parcel.partition, addition.tables))
    if delta:
        store.put(f"{_DELTA}{number:06d}", msgspec.msgpack.encode(delta))
    return bool(delta)


def read(
    store: StateStore, queries: Mapping[str, StateSchema], deltas: int, pieces: int = 0
) -> dict[str, Tables]:
    """Read the tables of queries; each row has the `partition` that it comes from.

    Args:
        queries: the queries to read, with the schema of their partial states.
        deltas: how many there are.
        pieces: how many cold pieces to read as well.
    """
    frames: dict[str, dict[str, list[pl.DataFrame]]] = {}
    for key, data in (*_stored(store, deltas), *_cold_pieces(store, pieces)):
        took_effect("merged deltas", key == _BASE)
        for query, table, frame in _entries(key, data, queries):
            frames.setdefault(query, {}).setdefault(table, []).append(frame)
    return {
        query: {table: queries[query].concat(parts) for table, parts in tables.items()}
        for query, tables in frames.items()
    }


def added(additions: Sequence[tuple[int, Addition]], schema: StateSchema) -> Tables:
    """Return the tables that lanes add to a query, each with the number of its lane."""
    frames: dict[str, list[pl.DataFrame]] = {}
    for partition, addition in additions:
        lane = pl.lit(partition, dtype=pl.Int32).alias(PARTITION)
        for table, stream in addition.tables.items():
            frames.setdefault(table, []).append(from_bytes(stream).with_columns(lane))
    return {table: schema.concat(parts) for table, parts in frames.items()}


def is_untidy(store: StateStore, deltas: int) -> bool:
    """Return whether the deltas hold as much as the base, which takes half the space for it."""
    sizes = {key: len(data) for key, data in _stored(store, deltas)}
    base = sizes.pop(_BASE, 0)
    return sum(sizes.values()) >= 2 * base


def replace(store: StateStore, deltas: int, queries: Mapping[str, Tables]) -> None:
    """Replace the base and all deltas by a new base."""
    store.put(_BASE, _encoded(queries))
    for number in range(deltas):
        store.delete(f"{_DELTA}{number:06d}")


def put_cold(store: StateStore, number: int, queries: Mapping[str, Tables]) -> None:
    """Store tables as the piece of this number, which steps do not read."""
    store.put(f"{_COLD}{number:06d}", _encoded(queries))


def delete_cold(store: StateStore, pieces: int) -> None:
    """Delete all cold pieces."""
    for number in range(pieces):
        store.delete(f"{_COLD}{number:06d}")


def _encoded(queries: Mapping[str, Tables]) -> bytes:
    tables: Base = {
        # Keep empty tables, too: they have the types of their columns.
        query: {name: to_bytes(frame, kept=True) for name, frame in tables.items()}
        for query, tables in queries.items()
        if any(len(frame) for frame in tables.values())
    }
    return msgspec.msgpack.encode(tables)


def _cold_pieces(store: StateStore, pieces: int) -> Iterator[tuple[str, bytes]]:
    return _numbered(store, _COLD, pieces)


def _stored(store: StateStore, deltas: int) -> Iterator[tuple[str, bytes]]:
    data = store.get(_BASE)
    if data is not None:
        yield _BASE, data
    yield from _numbered(store, _DELTA, deltas)


def _numbered(store: StateStore, prefix: str, count: int) -> Iterator[tuple[str, bytes]]:
    """Yield what lies under the numbers below a count that the head has."""
    for number in range(count):
        data = store.get(key := f"{prefix}{number:06d}")
        assert data is not None  # noqa: S101 - written with the head that counts it
        yield key, data


def _entries(
    key: str, data: bytes, queries: Collection[str]
) -> Iterator[tuple[str, str, pl.DataFrame]]:
    if not key.startswith(_DELTA):
        for query, tables in msgspec.msgpack.decode(data, type=Base).items():
            for table, stream in tables.items() if query in queries else ():
                yield query, table, from_bytes(stream)
        return
    for query, parts in msgspec.msgpack.decode(data, type=Delta).items():
        for partition, tables in parts if query in queries else ():
            for table, stream in tables.items():
                lane = pl.lit(partition, dtype=pl.Int32).alias(PARTITION)
                yield query, table, from_bytes(stream).with_columns(lane)
