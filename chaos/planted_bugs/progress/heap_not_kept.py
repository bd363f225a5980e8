"""Slack in rows whose buffer is empty at the start of every batch.

Defect: the newest times are not part of the state.
How one gets it: a generator that is made anew by each task.
Expected: a lane's progress is not what its records say, and other with other cuts.
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


class FreshRows(SlackRows):
    """Begins anew."""

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:  # noqa: D102
        memory.clear()
        return super().bounds(records, memory)


BUG = planted_bug(
    planted("heap_not_kept", FreshRows),
    "progress",
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=by_generator(disorder.SlackRows),
)
