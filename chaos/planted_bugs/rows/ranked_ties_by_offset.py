"""Rows in the order of time whose ties are broken by offset, whatever their partition.

Defect: the partition is left out of the canonical order.
How one gets it: one partition on the developer's machine.
Expected: windows hold other rows where times are equal in two lanes.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from chaos.planted_bugs.guilt import guilty
from chaos.planted_bugs.lairs import lair, ranked_rows, several_lanes
from chaos.planted_bugs.planted import planted
from windowing.engine import wids
from windowing.engine.aggregates import Accumulators
from windowing.engine.progress.reached import Progress
from windowing.engine.wids import ON_TIME
from windowing.engine.windows.part import Tables
from windowing.engine.windows.rows import RankedShardPart
from windowing.engine.windows.sliding import PARTIALS


class OffsetShardPart(RankedShardPart):
    """Numbers rows by time and offset."""

    def _partials(self, tables: Tables, after: Progress) -> pl.DataFrame:
        rows = self._passed(tables, after).sort(*self._unit, "at", "first", "partition")
        rank = pl.int_range(pl.len(), dtype=pl.Int64)
        number = rows.select(number=rank.over(self._unit) if self._unit else rank)["number"]
        grid = wids.grid(self._window)
        numbers = np.asarray(number.to_numpy() + self._numbered_before(tables, rows))
        partials = rows.drop("at").with_columns(
            w_first=pl.Series(grid.first(numbers)),
            w_last=pl.Series(grid.last(numbers)),
            release=pl.lit(ON_TIME, dtype=pl.Int64),
        )
        partials = partials.filter(pl.col("w_first") <= pl.col("w_last"))
        held = [tables[PARTIALS]] if PARTIALS in tables else []
        return Accumulators.concat([*held, partials])


GUILTY = guilty(
    planted("ranked_ties_by_offset", OffsetShardPart),
    "deterministic",
    lair=lair(ranked_rows, several_lanes),
)
