"""The rows of a join: pairs of records, and lone records, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from windowing.engine.columns import (
    AT,
    AT_LAST,
    FIRST_OFFSET,
    GAP,
    INSTANT,
    IS_LATE,
    KEY,
    LAST_OFFSET,
    OFFSET,
    OFFSETS,
    PARTITION,
    RECORDS,
    RETRACTS,
    REVISION,
    WINDOW_ID,
    field_column,
)
from windowing.engine.windows.pair_values import PairValues
from windowing.model.join import PLACE, Side
from windowing.model.query import JoinQuery
from windowing.model.source import Source

SIDES: Final[tuple[Side, Side]] = ("left", "right")
# Columns of a record besides those of the other side.
_HEAD = (AT, INSTANT, IS_LATE, OFFSET, PARTITION)


class PairRows:
    """The builder of a join's rows.

    Attributes:
        values: the builder of what they show.
    """

    def __init__(self, query: JoinQuery, source: Source) -> None:
        self._query, self._source = query, source
        self._equal = query.key[: -len(PLACE)]
        self.values = PairValues(query)

    def of(self, records: pl.DataFrame, *, retracts: bool) -> pl.DataFrame:
        """Return rows of pairs, or of lone records of one side.

        Args:
            records: with columns prefixed by side, and those of the key's fields.
            retracts: whether the rows are taken back.
        """
        there = [side for side in SIDES if side_column(side, AT) in records.columns]
        times = [side_column(side, AT) for side in there]
        late = pl.any_horizontal(side_column(side, IS_LATE) for side in there)
        rows = records.select(
            pl.min_horizontal(times).alias(WINDOW_ID),
            pl.max_horizontal(times).alias(AT_LAST),
            pl.lit(1, dtype=pl.Int64).alias(GAP),
            pl.lit(retracts).alias(RETRACTS),
            late.cast(pl.Int64).alias(REVISION),
            pl.lit(len(there), dtype=pl.Int64).alias(RECORDS),
            # Sorted: lanes stand by number, and an added one of the left side comes last.
            pl.concat_list(offsets(side) for side in there).list.sort().alias(OFFSETS),
            self.key(there).alias(KEY),
        )
        return rows.with_columns(self.values.of(records, there))

    def key(self, there: Sequence[Side]) -> pl.Expr:
        """Return the key of rows of pairs, or of lone records of one side."""
        names = {n: self._source.lane(n) for n in range(self._source.partitions)}
        parts = [pl.col(field_column(name)).alias(name) for name in self._equal]
        for side in SIDES:
            lane, offset = pl.lit(None, dtype=pl.String), pl.lit(None, dtype=pl.Int64)
            if side in there:
                number = pl.col(side_column(side, PARTITION))
                lane = number.replace_strict(names, return_dtype=pl.String)
                offset = pl.col(side_column(side, OFFSET))
            parts += [lane.alias(side), offset.alias(f"{side}_offset")]
        return pl.struct(parts)


def side_column(side: Side, name: str) -> str:
    """Return the name of one side's column among the columns of both sides."""
    return f"{side}:{name}"


def prefixed(records: pl.DataFrame, side: Side) -> pl.DataFrame:
    """Return records with columns prefixed by side."""
    return records.rename({name: side_column(side, name) for name in _HEAD})


def offsets(side: Side) -> pl.Expr:
    """Return the lane of a side's record, with its offset as the first and the last there."""
    offset = pl.col(side_column(side, OFFSET))
    lane = pl.col(side_column(side, PARTITION)).cast(pl.Int32)
    return pl.struct(lane.alias(PARTITION), offset.alias(FIRST_OFFSET), offset.alias(LAST_OFFSET))
