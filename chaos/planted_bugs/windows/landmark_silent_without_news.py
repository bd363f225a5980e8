"""Landmark windows that are sent only if something new has entered them.

Defect: a window that holds just what the one before it held gives no row.
How one gets it: "empty windows give no row", said of slices.
Expected: rows are missing.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.guilt import guilty
from chaos.planted_bugs.lairs import lair, landmark
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.landmark import LandmarkShardPart
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding import PARTIALS


class SparseShardPart(LandmarkShardPart):
    """Sends the windows that somebody entered."""

    def _full(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        entered = tables[PARTIALS]["w_first"].unique().implode()
        return super()._full(tables, before, after).filter(pl.col("window_id").is_in(entered))


GUILTY = guilty(
    planted("landmark_silent_without_news", SparseShardPart),
    "deterministic",
    lair=lair(landmark),
)
