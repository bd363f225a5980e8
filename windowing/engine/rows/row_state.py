"""The stored state of queries whose parts replace it: per query a base, and additions since."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from windowing.engine.columns import OFFSET
from windowing.engine.rows.part import ROWS
from windowing.engine.storage.frames import from_bytes, to_bytes
from windowing.engine.storage.parcel import Parcel
from windowing.engine.storage.state import StateStore
from windowing.engine.windows.part import Tables

_BASE = "base"
TableBytes = dict[str, bytes]


def add(store: StateStore, query: str, parcels: Sequence[Parcel]) -> None:
    """Store what lanes add to a query's state, without reading it: tables of records."""
    for parcel in parcels:
        if query in parcel.queries:
            tables = parcel.queries[query].tables
            # Every record comes once, which makes this a new key.
            first: int = from_bytes(tables[ROWS])[OFFSET][0]
            key = f"{_prefix(query)}{parcel.partition:05d}-{first:020d}"
            store.put(key, msgspec.msgpack.encode(tables))


class RowState:
    """A query's state with all additions, read once.

    Args:
        parcels: what lanes add now, which has not been stored.

    Attributes:
        tables: the state; without tables before the first addition.
    """

    def __init__(self, store: StateStore, query: str, parcels: Sequence[Parcel] = ()) -> None:
        self._store, self._base = store, _prefix(query) + _BASE
        # One scan, as calls to the store are expensive on Spark.
        found = dict(store.scan(_prefix(query)))
        self._keys = list(found)
        stored = [msgspec.msgpack.decode(data, type=TableBytes) for data in found.values()]
        stored += [parcel.queries[query].tables for parcel in parcels if query in parcel.queries]
        frames: dict[str, list[pl.DataFrame]] = {}
        for tables in stored:
            for name, stream in tables.items():
                frames.setdefault(name, []).append(from_bytes(stream))
        self.tables: Tables = {
            name: pl.concat(parts, rechunk=True) for name, parts in frames.items()
        }

    def replace(self, tables: Tables) -> None:
        """Replace the state and its additions."""
        kept = any(len(frame) for frame in tables.values())
        if kept:
            stored: TableBytes = {name: to_bytes(frame) for name, frame in tables.items()}
            self._store.put(self._base, msgspec.msgpack.encode(stored))
        for key in self._keys:
            if key != self._base or not kept:
                self._store.delete(key)


def _prefix(query: str) -> str:
    return f"rows/{query}/"
