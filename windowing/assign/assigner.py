"""What every assigner is: records of one lane in, partial states for the shards out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from windowing.parcel import DEAD_LETTER_SCHEMA, Parcel
from windowing.progress.reached import Reached
from windowing.spec import Query
from windowing.wids import Flags, Ints

Tables = dict[str, pl.DataFrame]
"""A query's state, or what is added to it: frames by name. Which there are is the class's affair,
and the assigner and the emitter of a class agree on it."""


@dataclass(frozen=True)
class Scan:
    """A chunk with what its lane knows of each record: the progress before it.

    Attributes:
        partition: the lane's partition.
        data: the data records before the lane's end; `ts_us` holds the windowing attribute.
        progress_us: the progress before each of them, of the lane and of the record's key.
        reached: how far the lane is after the chunk.
    """

    partition: int
    data: pl.DataFrame
    progress_us: Ints
    reached: Reached


@dataclass(frozen=True)
class Assigned:
    """What became of one chunk's data records for one query.

    Attributes:
        tables: what the chunk adds to the query's state in the shards.
        dead: dead letters of records that no window took.
        applied, outside, dropped: how many records; with the dead ones, each counts once.
        memory: what the assigner must know with the lane's next chunk; None: nothing.
    """

    tables: Tables
    dead: pl.DataFrame
    applied: int
    outside: int
    dropped: int
    memory: bytes | None = field(default=None)


class Assigner(Protocol):
    """One query's part of a lane. It holds no state: what it must remember, the lane keeps."""

    def assign(self, scan: Scan, memory: bytes | None) -> Assigned:
        """Find the windows of a chunk's records, and what becomes of those that are late.

        Args:
            scan: the chunk.
            memory: what `assign` gave back for the lane's last chunk; None at first.
        """

    def post(self, tables: Tables, parcels: Sequence[Parcel]) -> None:
        """Put each shard's part of the tables into its parcel, and say when it is due."""


def dead_letters(query: Query, data: pl.DataFrame, refused: Flags, partition: int) -> pl.DataFrame:
    """The dead letters of late records that no window took; none where they are dropped.

    Args:
        query: its policy decides.
        data: records.
        refused: which of them.
        partition: their lane's.
    """
    policy = query.late.policy
    if policy == "drop":
        return pl.DataFrame(schema=DEAD_LETTER_SCHEMA)
    reason = "late" if policy == "dead_letter" else "out_of_retention"
    return data.filter(pl.Series(refused)).select(
        partition=pl.lit(partition, dtype=pl.Int32),
        offset="offset",
        query=pl.lit(query.name),
        reason=pl.lit(reason),
    )
