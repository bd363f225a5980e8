"""A join that looks back on each side as far as the other side's window says.

Defect: the windows of left and right are taken for each other.
How one gets it: "the left window" is on left records, or what these look into: both are said.
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
    """Takes left for right."""

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
