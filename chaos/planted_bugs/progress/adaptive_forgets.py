"""Adaptive slack that knows the lags of the batch only.

Defect: the lags of earlier records are not part of the state.
How one gets it: statistics that are kept per task.
Expected: a lane's progress is not what its records say, and other with other cuts.
Of another attribute than the time, whose progress no lane tells, its rows show it.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_generator
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.adaptive import Adaptive
from windowing.engine.wids import Ints
from windowing.model.progress import disorder


class FreshAdaptive(Adaptive):
    """Keeps the newest time, and no lags."""

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:  # noqa: D102
        del memory[1:]
        return super().bounds(records, memory)


BUG = planted_bug(
    planted("adaptive_forgets", FreshAdaptive),
    "progress",
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=by_generator(disorder.Adaptive),
)
