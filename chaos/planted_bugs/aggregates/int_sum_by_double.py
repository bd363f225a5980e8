"""Sums of integers that are added up as doubles.

Defect: sums beyond 2^53 lose their last digits.
How one gets it: one numeric type for all aggregates.
Expected: sums differ.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates import Accumulators
from windowing.engine.aggregates.plan import Values
from windowing.model.fields import Aggregate


class DoubleAccumulators(Accumulators):
    """Sums in doubles."""

    def _result(self, aggregate: Aggregate, partials: pl.DataFrame) -> Values:
        values = super()._result(aggregate, partials)
        if aggregate.function != "sum" or self._fields[str(aggregate.field)] != "int":
            return values
        exact = pl.Series(aggregate.name, values, dtype=pl.Int64)
        return exact.cast(pl.Float64).cast(pl.Int64, strict=False)


BUG = planted_bug(
    planted("int_sum_by_double", DoubleAccumulators),
    "deterministic",
    shows_in=some_query(computing(("sum",), "int")),
)
