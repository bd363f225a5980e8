"""Rows whose numbers count control records as well.

Defect: a heartbeat takes a row's number.
How one gets it: numbers from offsets, which in-band records have, too.
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
