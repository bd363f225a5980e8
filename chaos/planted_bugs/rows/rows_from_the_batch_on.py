"""Rows that are numbered from 0 in every batch.

Defect: the number of the last row is not kept from batch to batch.
How one gets it: `monotonically_increasing_id` of a micro-batch.
Expected: windows hold other rows, depending on the cuts.
"""

from __future__ import annotations

import msgspec
import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import rows_in_log, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.clock import ClockState, Course, Rows, _RowClock
from windowing.engine.wids import NOTHING_YET


class BatchClock(_RowClock):
    """Counts only the rows of the batch."""

    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:  # noqa: D102
        before = state.reached
        state.reached = msgspec.structs.replace(before, furthest_us=NOTHING_YET)
        course = super().run(rows, state, None)
        state.reached = before.merge(state.reached)
        return course


BUG = planted_bug(
    planted("rows_from_the_batch_on", BatchClock),
    "deterministic",
    shows_in=some_query(rows_in_log),
)
