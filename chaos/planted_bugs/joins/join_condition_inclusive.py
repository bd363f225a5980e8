"""A join whose `<` accepts equal values.

Defect: `<=` instead of `<` in a condition.
How one gets it: one character in a table of operators.
Expected: pairs that the definition does not have.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_join
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.join import _COMPARE
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import JoinQuery


def with_less(_: Pipeline, join: JoinQuery) -> bool:
    """A condition compares by `<`."""
    return any(c.operator == "<" for c in join.where)


BUG = planted_bug(
    planted(
        "join_condition_inclusive",
        names={"windowing.engine.windows.join:_COMPARE": {**_COMPARE, "<": pl.Expr.le}},
    ),
    "deterministic",
    shows_in=some_join(with_less),
)
