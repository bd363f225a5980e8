"""Rows that are numbered from 1.

Defect: the first record has number 1.
How one gets it: SQL's `row_number()` starts at 1, the grid of the windows at 0.
Expected: windows hold other rows.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import rows_in_log, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.clock import ClockState, Course, Rows, _RowClock


class OneClock(_RowClock):
    """Counts from 1."""

    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:  # noqa: D102
        course = super().run(rows, state, keys)
        return replace(course, values=course.values + 1)


BUG = planted_bug(
    planted("rows_from_one", OneClock), "deterministic", shows_in=some_query(rows_in_log)
)
