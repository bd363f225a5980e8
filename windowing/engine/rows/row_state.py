"""The stored state of queries whose parts replace it: per query a base, and additions since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import polars as pl

from windowing.engine.columns import OFFSET
from windowing.engine.frames import from_bytes, to_bytes
from windowing.engine.parcel import Parcel
from windowing.engine.rows.lane_part import ROWS
from windowing.engine.state import StateStore
from windowing.engine.windows.part import Tables

_BASE = "base"
Stored = dict[str, bytes]


def add(store: StateStore, query: str, parcels: Sequence[Parcel]) -> None:
    """Store what lanes add to a query's state, without reading it: tables of records.

    Args:
        store: a shard's.
        query: the query.
        parcels: from the lanes.
    """
    for parcel in parcels:
        if query in parcel.queries:
            tables = parcel.queries[query].tables
            # Every record comes once, which makes this a new key.
            first: int = from_bytes(tables[ROWS])[OFFSET][0]
            key = f"{_prefix(query)}{parcel.partition:05d}-{first:020d}"
            store.put(key, msgspec.msgpack.encode(tables))


def read(store: StateStore, query: str) -> Tables:
    """Read a query's state with all additions; without tables before the first."""
    frames: dict[str, list[pl.DataFrame]] = {}
    for _, data in store.scan(_prefix(query)):
        for name, stream in msgspec.msgpack.decode(data, type=Stored).items():
            frames.setdefault(name, []).append(from_bytes(stream))
    return {name: pl.concat(parts) for name, parts in frames.items()}


def replace(store: StateStore, query: str, tables: Tables) -> None:
    """Replace a query's state and its additions."""
    for key, _ in list(store.scan(_prefix(query))):
        store.delete(key)
    if any(len(frame) for frame in tables.values()):
        store.put(_prefix(query) + _BASE, _encoded(tables))


def _prefix(query: str) -> str:
    return f"rows/{query}/"


def _encoded(tables: Mapping[str, pl.DataFrame]) -> bytes:
    stored: Stored = {name: to_bytes(frame) for name, frame in tables.items()}
    return msgspec.msgpack.encode(stored)
