"""Compaction that merges late records with those on time.

Defect: partials with the same key and windows are merged, whatever their release.
How one gets it: a column missing in a GROUP BY.
Expected: records are in an earlier revision than the definition says.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import RELEASE
from windowing.engine.progress.reached import Progress
from windowing.engine.wids import ON_TIME
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding import SlidingShardPart
from windowing.engine.windows.sliding_lane import PARTIALS


class MeltingShardPart(SlidingShardPart):
    """Merges everything in a slice."""

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        melted = tables[PARTIALS].with_columns(pl.lit(ON_TIME, dtype=pl.Int64).alias(RELEASE))
        return super().retained({PARTIALS: melted}, after)


BUG = planted_bug(
    planted("compaction_merges_releases", MeltingShardPart),
    "deterministic",
    shows_in=some_query(sliding, updates),
)
