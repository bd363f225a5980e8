"""Windows that close when progress passes their end, not when it reaches it.

Defect: `P > end` instead of `P >= end`.
How one gets it: one character.
Expected: rows come one record late, and never if their end is the last progress.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query
from chaos.planted_bugs.planted import planted
from chaos.planted_bugs.windows.shifted import Shifted
from windowing.engine.progress.reached import Progress
from windowing.engine.wids import NOTHING_YET
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding import SlidingShardPart


class HesitantShardPart(SlidingShardPart):
    """Closes windows one microsecond late."""

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:  # noqa: D102
        return super().rows(tables, Shifted(before, -1), Shifted(after, -1))

    def next_due_us(self, tables: object, after: object) -> int:  # noqa: D102
        return NOTHING_YET  # look every time


BUG = planted_bug(
    planted("closes_after_end", HesitantShardPart),
    "deterministic",
    "closing",
    shows_in=some_query(sliding),
)
