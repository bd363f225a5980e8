"""Messages between the stages: parcels from a lane to a shard."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol
from zlib import crc32

import msgspec
import numpy as np
import polars as pl
from polars._typing import PolarsDataType

from windowing.engine.progress.reached import LaneProgress
from windowing.engine.reading.refusals import DETAIL_SCHEMA
from windowing.engine.storage.formats import MessageFormat
from windowing.engine.storage.frames import to_bytes
from windowing.engine.storage.groups import Groups
from windowing.engine.wids import ENDED, Ints
from windowing.model.fates import READ, Fates, names

DueTimes = Callable[[pl.DataFrame], Ints]
"""Returns the earliest progress at which each row of a table may make a row of results due."""


class Addition(msgspec.Struct, array_like=True):
    """A chunk's addition to one query's state in one shard.

    Attributes:
        due_us: the earliest progress at which any of it may make a row due.
        tables: frames as bytes (`windowing.engine.storage.frames`) by name, as the query's lane
            part and shard part agree.
    """

    due_us: int
    tables: dict[str, bytes]

    @classmethod
    def of(cls, tables: Mapping[str, pl.DataFrame], due_us: DueTimes) -> Addition:
        """Return tables of one shard as its addition."""
        earliest = min(int(due_us(table).min(initial=ENDED)) for table in tables.values())
        return cls(earliest, {name: to_bytes(table) for name, table in tables.items()})


class ShardMessage(Protocol):
    """A message to a shard, which additions to queries' states can be put into."""

    @property
    def queries(self) -> dict[str, Addition]:
        """The additions, by query."""


class TakenChange(msgspec.Struct, array_like=True):
    """A change of the queries that a lane takes, and its plan does not know.

    Attributes:
        offset: the place of the lane's copy.
        text: its JSON.
    """

    partition: int
    offset: int
    text: str


class Parcel(msgspec.Struct, array_like=True):
    """One lane's message to one shard for one batch, possibly just a progress update.

    Attributes:
        reached: the lane's progress after the batch, by clock name.
        keys: by clock, the keys with new progress and their `bound`, a frame as bytes.
        queries: what the batch adds to each query's state; without queries that get nothing.
        dead_letters: a frame as bytes (`DEAD_LETTER_SCHEMA`), passed through.
        metrics: the lane's counts of the batch, a frame as bytes, passed through.
        taken: changes of the queries, passed through; with one, the batch is not to be kept.
    """

    partition: int
    reached: dict[str, LaneProgress]
    keys: dict[str, bytes] = {}
    queries: dict[str, Addition] = {}
    dead_letters: bytes | None = None
    metrics: bytes | None = None
    taken: list[TakenChange] = []


PARCELS = MessageFormat("a lane sent a parcel", 1, Parcel)

DEAD_LETTER_SCHEMA = {
    "partition": pl.Int32,
    "offset": pl.Int64,
    "query": pl.String,
    "reason": pl.String,
    **DETAIL_SCHEMA,
}


def metric_schema(fates: Fates) -> dict[str, PolarsDataType]:
    """Return the columns of a lane's counts of a batch, if records can have these fates."""
    return {
        "partition": pl.Int32,
        "query": pl.String,
        READ: pl.Int64,
        **dict.fromkeys(names(fates), pl.Int64),
        "redelivered": pl.Int64,
        "first_offset": pl.Int64,
        "last_offset": pl.Int64,
        "progress_us": pl.Int64,
        "ended": pl.Boolean,
    }


def shard_of(keys: pl.DataFrame, shards: int) -> pl.Series:
    """Return the shard of each key, by a hash that never changes, as checkpoints depend on it.

    Args:
        keys: the columns of the key, one row per key; at least one column.
    """
    groups = Groups.by(keys, keys.columns)
    distinct = keys[groups.first]
    spelled = pl.concat_str(pl.all().cast(pl.String).fill_null("\x00"), separator="\x1f")
    texts = distinct.select(spelled).to_series()
    found = [crc32(text.encode()) % shards for text in texts]
    return pl.Series("shard", np.array(found, np.uint32)[groups.number])


def split(
    frame: pl.DataFrame, by: Sequence[str], shards: int
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the number and the part of each shard that has any rows of a frame.

    Args:
        by: the columns of the key; without any, everything goes to the first shard.
    """
    if not by or not len(frame):
        yield from [(0, frame)] if len(frame) else []
        return
    numbers = shard_of(frame.select(by), shards)
    ordered, start = frame[numbers.arg_sort()], 0
    for number, rows in numbers.value_counts().sort(numbers.name).iter_rows():
        yield number, ordered[start : start + rows]
        start += rows


def post(
    query: str,
    tables: Mapping[str, pl.DataFrame],
    parcels: Sequence[ShardMessage],
    by: Sequence[str],
    due_us: DueTimes,
) -> None:
    """Put what a chunk adds to a query's state into the messages to all shards.

    Args:
        tables: what the chunk adds. A shard that gets rows of one gets all of them.
        parcels: a message to each shard.
        by: the columns whose hash selects a row's shard.
        due_us: see there.
    """
    empty = {name: to_bytes(table.clear()) for name, table in tables.items()}
    for name, table in tables.items():
        for number, part in split(table, by, len(parcels)):
            addition = parcels[number].queries.setdefault(query, Addition(ENDED, {**empty}))
            addition.due_us = min(addition.due_us, int(due_us(part).min()))
            addition.tables[name] = to_bytes(part)
