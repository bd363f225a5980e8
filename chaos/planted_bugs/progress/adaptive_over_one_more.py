"""Adaptive slack over N + 1 records.

Defect: the oldest lag is dropped one record too late.
How one gets it: append first, then compare the length with the wrong sign.
Expected: a lane's progress is wrong.
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


class LongAdaptive(Adaptive):
    """Looks back over one record more."""

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:  # noqa: D102
        self._over += 1
        try:
            return super().bounds(records, memory)
        finally:
            self._over -= 1


BUG = planted_bug(
    planted("adaptive_over_one_more", LongAdaptive),
    "progress",
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=by_generator(progress.Adaptive),
)
