"""Windows over a numeric field that advance with bounds on time.

Defect: bounds in control records, which are about event time, advance every clock.
How one gets it: one watermark for all windows.
Expected: rows come too early, and on-time records are treated as late.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import another_attribute, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import KIND, TIME
from windowing.engine.input.pack import DATA
from windowing.engine.progress.clock import ClockState, Course, Rows, _AttributeClock


class OneClock(_AttributeClock):
    """Applies a bound on time to any attribute."""

    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:  # noqa: D102
        if self._other is None or self._key is not None:
            return super().run(rows, state, keys)
        timed = pl.when(pl.col(KIND) == DATA).then(self._other).otherwise(TIME)
        other, self._other = self._other, None
        moved = replace(
            rows,
            all=rows.all.with_columns(timed.alias(TIME)),
            data=rows.data.with_columns(pl.col(other).alias(TIME)),
        )
        try:
            return super().run(moved, state, keys)
        finally:
            self._other = other


BUG = planted_bug(
    planted("other_attribute_by_time", OneClock),
    "deterministic",
    "closing",
    "conservation",
    "dead letters",
    shows_in=some_query(another_attribute),
)
