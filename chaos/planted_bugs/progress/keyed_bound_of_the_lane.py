"""Bounds for one key that apply to the whole lane.

Defect: `{"bound": b, "on": …}` advances all keys.
How one gets it: a reader of control records that ignores unknown fields.
Expected: a lane's progress is higher than promised.
Where later bounds of the batch hide this, the rows differ.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_generator
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import KIND
from windowing.engine.input.pack import BOUND, BOUND_ON
from windowing.engine.progress.clock import ClockState, Course, Rows, _AttributeClock
from windowing.model import progress


class BroadClock(_AttributeClock):
    """Ignores the key of a bound."""

    def run(self, rows: Rows, state: ClockState, keys: pl.DataFrame | None) -> Course:  # noqa: D102
        kind = pl.when(pl.col(KIND) == BOUND_ON).then(pl.lit(BOUND)).otherwise(KIND)
        broad = rows.all.with_columns(kind.cast(pl.UInt8).alias(KIND))
        return super().run(replace(rows, all=broad), state, keys)


BUG = planted_bug(
    planted("keyed_bound_of_the_lane", BroadClock),
    "progress",
    "conservation",
    "dead letters",
    "deterministic",
    shows_in=by_generator(progress.Punctuation, progress.OrderedPer),
)
