"""A join that uses the other side's window on each side.

Defect: the windows of left and right are swapped.
How one gets it: "the left window" can mean the window over left records, or the one they look into.
Expected: pairs are missing or too many where the windows differ.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import join, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.join import JoinShardPart
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.join import Side


def of_two_lengths(pipeline: Pipeline, _: Query) -> bool:
    """Whether the two windows differ."""
    sides = pipeline.join
    return sides is not None and sides.left.window_us != sides.right.window_us


class CrossedShardPart(JoinShardPart):
    """Swaps left and right."""

    def _match(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        true = self._reach
        crossed: dict[Side, int | None] = {"left": true["right"], "right": true["left"]}
        self._reach = crossed
        try:
            return super()._match(left, right)
        finally:
            self._reach = true


BUG = planted_bug(
    planted("join_reach_of_the_other_side", CrossedShardPart),
    "deterministic",
    shows_in=some_query(join, of_two_lengths),
)
