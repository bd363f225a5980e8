"""Rows in order of time whose ties are broken by offset, ignoring the partition.

Defect: the partition is left out of the canonical order.
How one gets it: one partition on the developer's machine.
Expected: windows hold other rows where times are equal in two lanes.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import ranked_rows, several_lanes, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine import wids
from windowing.engine.columns import AT, FIRST_OFFSET, FIRST_WINDOW, LAST_WINDOW, PARTITION, RELEASE
from windowing.engine.progress.reached import Progress
from windowing.engine.wids import ON_TIME
from windowing.engine.windows.part import Tables
from windowing.engine.windows.rows import RankedShardPart
from windowing.engine.windows.sliding_lane import PARTIALS


class OffsetShardPart(RankedShardPart):
    """Numbers rows by time and offset."""

    def _partials(self, tables: Tables, after: Progress) -> pl.DataFrame:
        rows = self._passed(tables, after).sort(*self._unit, AT, FIRST_OFFSET, PARTITION)
        rank = pl.int_range(pl.len(), dtype=pl.Int64)
        number = rows.select(number=rank.over(self._unit) if self._unit else rank)["number"]
        grid = wids.grid(self._window)
        numbers = np.asarray(number.to_numpy() + self._numbered_before(tables, rows))
        partials = rows.drop(AT).with_columns(
            pl.Series(grid.first(numbers)).alias(FIRST_WINDOW),
            pl.Series(grid.last(numbers)).alias(LAST_WINDOW),
            pl.lit(ON_TIME, dtype=pl.Int64).alias(RELEASE),
        )
        partials = partials.filter(pl.col(FIRST_WINDOW) <= pl.col(LAST_WINDOW))
        held = [tables[PARTIALS]] if PARTIALS in tables else []
        return self._schema.concat([*held, partials])


BUG = planted_bug(
    planted("ranked_ties_by_offset", OffsetShardPart),
    "deterministic",
    shows_in=some_query(ranked_rows, several_lanes),
)
