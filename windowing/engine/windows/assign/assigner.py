"""What every assigner is: records of one lane in, partial states for the shards out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from windowing.engine.input.decode import column
from windowing.engine.input.refusals import late_columns
from windowing.engine.parcel import DEAD_LETTER_SCHEMA, Parcel
from windowing.engine.wids import Flags, Ints
from windowing.model import Query
from windowing.model.file.pipeline import Source
from windowing.model.progress.disorder import progress_attr

Tables = dict[str, pl.DataFrame]
"""A query's state, or what is added to it: frames by name. Which there are is the class's affair,
and the assigner and the emitter of a class agree on it."""


@dataclass(frozen=True)
class Scan:
    """A chunk with what its lane knows of each record: the progress before it.

    Attributes:
        partition: the lane's partition.
        data: the data records before the lane's end.
        values: of each, the windowing attribute.
        progress_us: the progress before each of them, of the lane and of the record's key.
        numbers: of each, its number among the records of its unit; None: nobody asked for it.
    """

    partition: int
    data: pl.DataFrame
    values: Ints
    progress_us: Ints
    numbers: Ints | None = None


@dataclass(frozen=True)
class Assigned:
    """What became of one chunk's data records for one query.

    Attributes:
        tables: what the chunk adds to the query's state in the shards.
        dead: dead letters of records that no window took.
        applied, outside, dropped: how many records; with the dead ones, each counts once.
    """

    tables: Tables
    dead: pl.DataFrame
    applied: int
    outside: int
    dropped: int


class Assigner(Protocol):
    """One query's part of a lane. It holds no state: what is remembered, the lane's clocks do."""

    def assign(self, scan: Scan) -> Assigned:
        """Find the windows of a chunk's records, and what becomes of those that are late."""

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
        **late_columns(query, data),
    )


def key_columns(query: Query) -> list[str]:
    """The columns of a row's key, each once."""
    return list(dict.fromkeys(column(name) for name in query.key))


def unit_columns(query: Query) -> list[str]:
    """The column of PATTR, whose values have windows of their own; none: the stream is one unit."""
    return [] if query.window.pattr is None else [column(query.window.pattr)]


def route(query: Query, source: Source) -> list[str]:
    """The columns whose hash chooses a record's shard: all that belongs together, and no more.

    Windows of rows, and windows that records define, are of a unit and not of a key; and a shard
    must know all that was promised for the keys that it closes.
    """
    if not query.window.traits.per_key:
        return unit_columns(query)
    attribute = source.ordered_by(query.window.attribute)
    promised = progress_attr(source.generator_of(attribute))
    return key_columns(query) if promised is None else [column(promised)]
