"""Slack in rows whose buffer holds one row too few.

Defect: the n-th largest time instead of the (n + 1)-th.
How one gets it: the heap's size is taken after the push instead of before it.
Expected: a lane's progress is wrong.
For attributes other than time, whose progress is not reported, the rows differ.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_generator
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.slack_rows import SlackRows
from windowing.engine.wids import Ints
from windowing.model import progress


class ShortRows(SlackRows):
    """Drops one row too many."""

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:  # noqa: D102
        wanted, self._rows = self._rows, max(self._rows - 1, 0)
        try:
            return super().bounds(records, memory)
        finally:
            self._rows = wanted


BUG = planted_bug(
    planted("heap_one_short", ShortRows),
    "progress",
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=by_generator(progress.SlackRows),
)
