"""Landmark windows that are emitted only if they have new records.

Defect: a window with the same content as the previous one emits no row.
How one gets it: "empty windows give no row", applied to slices.
Expected: rows are missing.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import landmark, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import FIRST_WINDOW, WINDOW_ID
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.landmark import LandmarkShardPart
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding_lane import PARTIALS


class SparseShardPart(LandmarkShardPart):
    """Emits only windows with new records."""

    def _full(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        entered = tables[PARTIALS][FIRST_WINDOW].unique().implode()
        return super()._full(tables, before, after).filter(pl.col(WINDOW_ID).is_in(entered))


BUG = planted_bug(
    planted("landmark_silent_without_news", SparseShardPart),
    "deterministic",
    shows_in=some_query(landmark),
)
