"""The head of a shard's state: what it knows without reading any tables, and its keys' bounds."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from windowing.engine.columns import KEY_BOUND, PARTITION
from windowing.engine.progress.reached import Reached
from windowing.engine.storage.cold import Far
from windowing.engine.storage.formats import Format
from windowing.engine.storage.frames import from_bytes, to_bytes
from windowing.engine.storage.parcel import Parcel
from windowing.engine.storage.state import StateStore

HEAD, KEYS = "head", "keys/"


class ShardState(msgspec.Struct, array_like=True):
    """The head of a shard's state; tables of queries and of keys are stored beside it.

    Attributes:
        fingerprint: of the pipeline that wrote it.
        reached: the lanes' progress, by clock name and partition.
        due_us: per query, the earliest progress at which some of its state makes a row due.
        deltas: the number of deltas.
        far: what lies apart.
    """

    fingerprint: str
    reached: dict[str, list[Reached]]
    due_us: dict[str, int] = {}
    deltas: int = 0
    far: Far = msgspec.field(default_factory=Far)


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
