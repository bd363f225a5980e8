"""Unreadable values that are counted for the first query only.

Defect: `read` and `dead` of the others lack them.
How one gets it: a counter incremented per dead letter; all queries share one dead letter.
Expected: the counts of the other queries differ.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import several_queries, some_query
from chaos.planted_bugs.planted import PlantedLane, planted
from windowing.engine.progress.clock import Rows
from windowing.engine.progress.reached import Reached
from windowing.engine.windows.part import Assigned


class OnceLane(PlantedLane):
    """Counts them once."""

    def _metrics(
        self, rows: Rows, reached: Reached, parts: Mapping[str, Assigned], redelivered: int
    ) -> pl.DataFrame:
        metrics = super()._metrics(rows, reached, parts, redelivered)
        others = (pl.col("query") != next(iter(parts))).cast(pl.Int64) * len(rows.dead)
        return metrics.with_columns(read=pl.col("read") - others, dead=pl.col("dead") - others)


BUG = planted_bug(
    planted("bad_values_of_one_query", lane=OnceLane),
    "conservation",
    shows_in=some_query(several_queries),
)
