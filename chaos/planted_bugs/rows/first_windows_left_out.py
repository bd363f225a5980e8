"""Windows of rows without the first ones, which hold fewer rows.

Defect: a window is emitted only if it is as long as its range.
How one gets it: a sliding buffer that reports only once it is full.
Expected: the first rows are missing.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import overlapping, rows_in_log, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import WINDOW_ID
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding import SlidingShardPart


class FullShardPart(SlidingShardPart):
    """Waits for the first full window."""

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:  # noqa: D102
        rows, window = super().rows(tables, before, after), self._query.window
        if not len(rows) or window.range_ is None:
            return rows
        return rows.filter((pl.col(WINDOW_ID) + 1) * window.slide >= window.range_)


BUG = planted_bug(
    planted("first_windows_left_out", FullShardPart),
    "deterministic",
    shows_in=some_query(rows_in_log, overlapping),
)
