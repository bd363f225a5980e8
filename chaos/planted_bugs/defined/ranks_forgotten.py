"""Slide by n in rank order whose compaction loses the number of passed records.

Defect: positions behind progress are dropped from the count as well.
How one gets it: purging a counter by time.
Expected: other windows after a compaction.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_rank, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import FIRST_WINDOW
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.by_record import DEFINERS, AtRecordsShardPart
from windowing.engine.windows.part import Tables
from windowing.model.lengths import INT64_MIN


class ForgetfulShardPart(AtRecordsShardPart):
    """Drops the count together with the positions."""

    def retained(self, tables: Tables, after: Progress) -> Tables:  # noqa: D102
        kept = super().retained(tables, after)
        return kept | {DEFINERS: kept[DEFINERS].filter(pl.col(FIRST_WINDOW) != INT64_MIN)}


BUG = planted_bug(
    planted("ranks_forgotten", ForgetfulShardPart), "deterministic", shows_in=some_query(by_rank)
)
