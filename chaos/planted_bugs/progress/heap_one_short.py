"""Slack in rows whose buffer holds one row less.

Defect: the n-th largest time for the (n + 1)-th.
How one gets it: the size of a heap after the push for that before it.
Expected: a lane's progress is not what its records say.
Of another attribute than the time, whose progress no lane tells, its rows show it.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_generator
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.slack_rows import SlackRows
from windowing.engine.wids import Ints
from windowing.model.progress import disorder


class ShortRows(SlackRows):
    """Lets go of one row too many."""

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
    shows_in=by_generator(disorder.SlackRows),
)
