"""A join that uses the other side's window on each side.

Defect: the windows of left and right are swapped.
How one gets it: "the left window" can mean the window over left records, or the one they look into.
Expected: pairs are missing or too many where the windows differ.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_join
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.join import JoinShardPart
from windowing.model.file.pipeline import Pipeline
from windowing.model.join import Side
from windowing.model.query import JoinQuery


def of_two_lengths(_: Pipeline, join: JoinQuery) -> bool:
    """The two windows differ."""
    return join.left != join.right


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
    shows_in=some_join(of_two_lengths),
)
