"""Compaction that merges late records with those on time.

Defect: what agrees in key and windows is one partial state, whatever it waits for.
How one gets it: one column left out of a GROUP BY.
Expected: records stand in an earlier revision than the definition says.
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
from windowing.engine.windows.sliding import PARTIALS, SlidingShardPart


class MeltingShardPart(SlidingShardPart):
    """Melts all that is in the same slice."""

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        melted = tables[PARTIALS].with_columns(pl.lit(ON_TIME, dtype=pl.Int64).alias(RELEASE))
        return super().retained({PARTIALS: melted}, after)


BUG = planted_bug(
    planted("compaction_merges_releases", MeltingShardPart),
    "deterministic",
    shows_in=some_query(sliding, updates),
)
