"""A lane that reads the bound of a control record as inclusive.

Defect: records at exactly that time are late.
How one gets it: watermarks are inclusive elsewhere, for example in Flink.
Expected: a lane's progress is one higher than promised.
Where later bounds of the batch hide this, the rows differ.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import KIND, TIME
from windowing.engine.input.pack import BOUND
from windowing.engine.progress.clock import ClockState, Course, Rows, _AttributeClock


class InclusiveClock(_AttributeClock):
    """Adds one to every bound."""

    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:  # noqa: D102
        said = (pl.col(KIND) == BOUND).cast(pl.Int64)
        further = rows.all.with_columns((pl.col(TIME) + said).alias(TIME))
        return super().run(replace(rows, all=further), state, keys)


BUG = planted_bug(
    planted("bound_is_inclusive", InclusiveClock),
    "progress",
    "deterministic",
    "dead letters",
    "conservation",
)
