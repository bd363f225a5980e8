"""Landmark windows whose compaction drops what lies behind progress.

Defect: slices whose first window has ended are dropped, as those of sliding windows are.
How one gets it: one purging rule for all window classes.
Expected: later windows hold too little.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import landmark, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import FIRST_WINDOW
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.landmark import LandmarkShardPart
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding_lane import PARTIALS
from windowing.engine.windows.stamps import per_row


class PurgingShardPart(LandmarkShardPart):
    """Drops slices by their first window."""

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        partials = tables[PARTIALS]
        behind = pl.col(FIRST_WINDOW) > per_row(self._gone(partials, after))
        return super().retained({PARTIALS: partials.filter(behind)}, after)


BUG = planted_bug(
    planted("landmark_prefix_lost", PurgingShardPart),
    "deterministic",
    shows_in=some_query(landmark),
)
