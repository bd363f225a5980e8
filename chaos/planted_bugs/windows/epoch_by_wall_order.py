"""Late records that are released with their own batch, not at their epoch.

Defect: waiting records are emitted with the batch that brings them, so that the revision that
holds a record depends on the cuts.
How one gets it: firing late panes per micro-batch, as an engine without epochs has to.
Expected: revisions come too early, and depend on the cuts.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from chaos.planted_bugs.windows.shifted import Shifted
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding import SlidingShardPart


class EagerShardPart(SlidingShardPart):
    """Emits late revisions as if their epoch had come."""

    def _revisions(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        ahead = Shifted(after, self._query.late.every_us or 0)
        return super()._revisions(tables, before, ahead)


BUG = planted_bug(
    planted("epoch_by_wall_order", EagerShardPart),
    "deterministic",
    "exactly once",
    "closing",
    shows_in=some_query(sliding, updates),
)
