"""Late records that no window took."""

from __future__ import annotations

import polars as pl

from windowing.engine.columns import OFFSET, PARTITION
from windowing.engine.reading.refusals import late_columns
from windowing.engine.storage.parcel import DEAD_LETTER_SCHEMA
from windowing.engine.wids import Flags
from windowing.model.query import Flow


def dead_letters(query: Flow, data: pl.DataFrame, refused: Flags, partition: int) -> pl.DataFrame:
    """The dead letters of late records that no window took; none where they are dropped.

    Args:
        query: the query with the late policy.
        data: records.
        refused: which of the records.
        partition: their lane's.
    """
    reason = query.late.letter
    if reason is None or not refused.any():
        return pl.DataFrame(schema=DEAD_LETTER_SCHEMA)
    return data.filter(pl.Series(refused)).select(
        pl.lit(partition, dtype=pl.Int32).alias(PARTITION),
        OFFSET,
        query=pl.lit(query.name),
        reason=pl.lit(reason),
        **late_columns(query, data),
    )
