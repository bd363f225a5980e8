"""Sums over nothing but nulls that are 0, not null.

Defect: the neutral element is taken for a result.
How one gets it: a fold that begins at 0.
Expected: values differ.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.guilt import guilty
from chaos.planted_bugs.lairs import computing, lair
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates import Accumulators
from windowing.engine.aggregates.plan import Values
from windowing.model.fields import Aggregate


class FoldingAccumulators(Accumulators):
    """Sums from 0."""

    def _result(self, aggregate: Aggregate, partials: pl.DataFrame) -> Values:
        values = super()._result(aggregate, partials)
        return [value or 0 for value in values] if aggregate.function == "sum" else values


GUILTY = guilty(
    planted("sum_of_nulls_is_zero", FoldingAccumulators),
    "deterministic",
    lair=lair(computing(("sum",))),
)
