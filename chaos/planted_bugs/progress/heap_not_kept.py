"""Slack in rows whose buffer is empty at the start of every batch.

Defect: the newest times are not part of the state.
How one gets it: a generator that each task creates anew.
Expected: a lane's progress is wrong, and depends on the cuts.
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


class FreshRows(SlackRows):
    """Starts every batch with an empty buffer."""

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:  # noqa: D102
        memory.clear()
        return super().bounds(records, memory)


BUG = planted_bug(
    planted("heap_not_kept", FreshRows),
    "progress",
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=by_generator(progress.SlackRows),
)
