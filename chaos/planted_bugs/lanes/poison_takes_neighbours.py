"""A lane that skips the rest of a batch after the first unreadable value.

Defect: a poison record also loses the good ones after it.
How one gets it: a `try` around the loop instead of inside it.
Expected: records are missing from the counts and from the windows.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import lanes_of
from chaos.simulator.platform.parts import EngineParts
from windowing.engine.columns import KIND
from windowing.engine.input.pack import BAD
from windowing.engine.lane import Lane, LaneState


class FragileLane(Lane):
    """Stops at poison and continues with the next batch."""

    def _fresh(self, chunk: pl.DataFrame, state: LaneState) -> pl.DataFrame:
        fresh = super()._fresh(chunk, state)
        return fresh.filter((pl.col(KIND) == BAD).cum_sum().shift(1, fill_value=0) == 0)


BUG = planted_bug(
    EngineParts("poison_takes_neighbours", lanes=lanes_of(FragileLane)),
    "conservation",
    "deterministic",
    "dead letters",
    "progress",
    # A sum that overflows by the definition may not overflow without the lost records.
    "no error",
)
