"""Bounds for one key that are taken for bounds of the lane.

Defect: `{"bound": b, "on": …}` moves all keys.
How one gets it: a reader of control records that ignores what it does not know.
Expected: a lane's progress is further than was promised.
Where later bounds of the batch have overtaken it, its rows show it.
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
from windowing.model.progress import disorder


class BroadClock(_AttributeClock):
    """Reads a bound, and not what it is on."""

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
    shows_in=by_generator(disorder.Punctuation, disorder.OrderedPer),
)
