"""A window of late records only whose first row is revision 0.

Defect: the first row of a window gets number 0, whatever it holds.
How one gets it: a counter per window that starts at 0.
Expected: a full row where the definition has a late one.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import REVISION
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding import SlidingShardPart


class CountingShardPart(SlidingShardPart):
    """Counts the rows of a window from 0."""

    def _revisions(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        rows = super()._revisions(tables, before, after)
        if not len(rows):
            return rows
        named = self._group
        shown = self._on_time_at(tables, rows.select(named).unique()).select(named).unique()
        shown = shown.with_columns(less=pl.lit(0, dtype=pl.Int64))
        counted = rows.join(shown, on=named, how="left", nulls_equal=True)
        lower = pl.col(REVISION) - pl.col("less").fill_null(1)
        return counted.with_columns(lower.alias(REVISION)).drop("less")


BUG = planted_bug(
    planted("late_only_window_is_full", CountingShardPart),
    "deterministic",
    shows_in=some_query(sliding, updates),
)
