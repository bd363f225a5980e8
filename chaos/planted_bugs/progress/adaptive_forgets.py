"""Adaptive slack that knows only the lags of the current batch.

Defect: the lags of earlier records are not part of the state.
How one gets it: statistics that are kept per task.
Expected: a lane's progress is wrong, and depends on the cuts.
For attributes other than time, whose progress is not reported, the rows differ.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_generator
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.adaptive import Adaptive
from windowing.engine.wids import Ints
from windowing.model import progress


class FreshAdaptive(Adaptive):
    """Keeps the newest time, but no lags."""

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:  # noqa: D102
        del memory[1:]
        return super().bounds(records, memory)


BUG = planted_bug(
    planted("adaptive_forgets", FreshAdaptive),
    "progress",
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=by_generator(progress.Adaptive),
)
