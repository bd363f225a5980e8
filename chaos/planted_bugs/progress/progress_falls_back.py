"""A lane whose progress is its newest bound, not its largest.

Defect: an older record lowers progress.
How one gets it: an assignment instead of a maximum.
Expected: a lane's progress falls, or windows close late.
Where later bounds of the batch hide this, the rows differ.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec
import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.clock import ClockState, Course, Rows, _AttributeClock
from windowing.engine.wids import ENDED


class NewestClock(_AttributeClock):
    """Takes the newest record's bound."""

    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:  # noqa: D102
        course = super().run(rows, state, keys)
        if not len(rows.data) or state.reached.progress_us == ENDED or self._other is not None:
            return course
        newest = int(self._generator.bounds(rows.data[-1:], [*state.memory])[0])
        state.reached = msgspec.structs.replace(
            state.reached, progress_us=min(state.reached.progress_us, newest)
        )
        return replace(course, reached=state.reached)


BUG = planted_bug(
    planted("progress_falls_back", NewestClock),
    "progress",
    "conservation",
    "dead letters",
    "deterministic",
)
