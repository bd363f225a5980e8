"""Quantiles whose rank is rounded down.

Defect: the value at floor(q n) instead of ceil(q n).
How one gets it: `int(q * n)` as an index.
Expected: values differ.
"""

from __future__ import annotations

from fractions import Fraction

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates.bags import Bag
from windowing.engine.aggregates.ranks import _ranked


def rounded_down(bag: Bag, partials: pl.DataFrame, share: Fraction) -> pl.Series:
    """Return the quantile of each bag, with its rank rounded down."""

    def rank(count: pl.Expr) -> pl.Expr:
        below = count * share.numerator // share.denominator
        return pl.max_horizontal(below, pl.lit(1, dtype=pl.Int64))

    return _ranked(bag, partials, rank)


BUG = planted_bug(
    planted(
        "quantile_rounds_down", names={"windowing.engine.aggregates.ranks:quantile": rounded_down}
    ),
    "deterministic",
    shows_in=some_query(computing(("quantile", "approx_quantile"))),
)
