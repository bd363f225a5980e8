"""What assigners share: keys and units as columns, dead letters, and the way to a shard."""

from __future__ import annotations

import polars as pl

from windowing.engine.input.decode import column
from windowing.engine.input.refusals import late_columns
from windowing.engine.parcel import DEAD_LETTER_SCHEMA
from windowing.engine.wids import Flags
from windowing.model import Query
from windowing.model.file.pipeline import Source


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
    promised = source.generator_of(attribute).progress_attr
    return key_columns(query) if promised is None else [column(promised)]
