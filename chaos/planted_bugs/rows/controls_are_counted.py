"""Row numbers that also count control records.

Defect: a heartbeat uses up a row number.
How one gets it: row numbers derived from offsets, which in-band control records also have.
Expected: windows hold fewer rows than they should.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import rows_in_log, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.clock import ClockState, Course, Rows, _RowClock


class OffsetClock(_RowClock):
    """Counts every record of the chunk, if it has no key."""

    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:  # noqa: D102
        course = super().run(rows, state, keys)
        if self._key is not None:
            return course
        others = np.cumsum(~rows.is_data)[rows.is_data]
        return replace(course, values=course.values + others)


BUG = planted_bug(
    planted("controls_are_counted", OffsetClock),
    "deterministic",
    shows_in=some_query(rows_in_log),
)
