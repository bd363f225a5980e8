"""Sums of nulls only that are 0, not null.

Defect: the neutral element is returned as a result.
How one gets it: a fold that starts at 0.
Expected: values differ.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates import Accumulators
from windowing.engine.aggregates.plan import Values
from windowing.model.fields import Aggregate


class FoldingAccumulators(Accumulators):
    """Sums from 0."""

    def _result(self, aggregate: Aggregate, partials: pl.DataFrame) -> Values:
        values = super()._result(aggregate, partials)
        return [value or 0 for value in values] if aggregate.function == "sum" else values


BUG = planted_bug(
    planted("sum_of_nulls_is_zero", FoldingAccumulators),
    "deterministic",
    shows_in=some_query(computing(("sum",))),
)
