"""From merged partial states to rows, for all classes of windows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa

from windowing.engine.aggregates import Accumulators
from windowing.engine.columns import (
    FIRST_OFFSET,
    KEY,
    LAST_OFFSET,
    OFFSETS,
    OVERFLOW,
    PARTITION,
    RECORDS,
    REVISION,
    VALUES,
    WINDOW_ID,
    field_column,
)
from windowing.engine.storage.groups import Groups, Ints
from windowing.model.query import Flow

BY_LANE = (FIRST_OFFSET, LAST_OFFSET)
"""Not merged over lanes."""


class Results:
    """The builder of rows from merged partial states, for all classes."""

    def __init__(self, query: Flow, accumulators: Accumulators) -> None:
        self._accumulators = accumulators
        self._names = {field_column(name): name for name in query.key}

    def of(self, parts: pl.DataFrame, *more: str) -> pl.DataFrame:
        """Merge over lanes and compute the results.

        Args:
            parts: partial states with the key's columns, `window_id`, `revision` and `partition`.
            more: further columns that identify a row, or are equal in all its parts.
        """
        by = [*self._names, WINDOW_ID, REVISION, *more]
        groups = Groups.by(parts, by)
        merged = self._accumulators.merged(parts, groups, by, without=BY_LANE)
        lanes = parts.select(PARTITION, *BY_LANE)
        merged = merged.with_columns(lane_offsets(lanes, groups))
        return self.of_merged(merged, *more)

    def of_merged(self, merged: pl.DataFrame, *more: str) -> pl.DataFrame:
        """Compute the results.

        Args:
            merged: the states of rows: as those of `of`, but with `offsets` instead of offsets and
                `partition`.
            more: as for `of`.
        """
        values = self._accumulators.results(merged)
        columns = [
            *(merged[name] for name in (WINDOW_ID, REVISION, *more, RECORDS, OFFSETS)),
            pl.DataFrame(values).to_struct(VALUES),
            self._accumulators.overflow(merged, values),
        ]
        if self._names:
            columns.append(self.key_of(merged))
        return pl.DataFrame(columns)

    def of_none(self, windows: pl.DataFrame, states: pl.DataFrame, *more: str) -> pl.DataFrame:
        """Return rows that show no records.

        Args:
            windows: the key's columns, `window_id`, `revision`, and those of `more`.
            states: partial states, none, for the types of their columns.
            more: as for `of`.
        """
        count = len(windows)
        none = pl.repeat(0, count, dtype=pl.Int64, eager=True)
        offsets = pl.List(pl.Struct(states.select(PARTITION, *BY_LANE).schema))
        columns = [
            *(windows[name] for name in (WINDOW_ID, REVISION, *more)),
            none.alias(RECORDS),
            pl.Series(OFFSETS, [[]] * count, dtype=offsets),
            pl.DataFrame(self._accumulators.of_none(count)).to_struct(VALUES),
            pl.Series(OVERFLOW, [None] * count, dtype=pl.List(pl.String)),
        ]
        if self._names:
            columns.append(self.key_of(windows))
        return pl.DataFrame(columns)

    def key_of(self, parts: pl.DataFrame) -> pl.Series:
        """Return the key of each row of a frame, as a struct of its fields."""
        return parts.select(*self._names).rename(self._names).to_struct(KEY)


def lane_offsets(lanes: pl.DataFrame, groups: Groups) -> pl.Series:
    """Return the first and last offset in each lane that a row has parts of, as `offsets`.

    Args:
        lanes: of each part, `partition`, `first` and `last`.
        groups: the parts by row.
    """
    ordered = lanes[groups.ordered_by(lanes[PARTITION].cast(pl.Int64).to_numpy())]
    return listed_offsets(ordered, np.cumsum(groups.sizes))


def listed_offsets(lanes: pl.DataFrame, ends: Ints) -> pl.Series:
    """Return the same of parts row by row.

    Args:
        lanes: of each part, `partition`, `first` and `last`.
        ends: where the parts of each row end.
    """
    # Of an array of numpy's, pyarrow would import pandas: 0.7 s of a short run.
    bounds = pl.Series(np.concatenate(([0], ends))).to_arrow()
    return pl.Series(OFFSETS, pa.LargeListArray.from_arrays(bounds, lanes.to_struct().to_arrow()))
