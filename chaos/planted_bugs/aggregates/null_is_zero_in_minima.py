"""Minima and maxima that treat null as zero.

Defect: a null counts as 0 in `min` and `max`.
How one gets it: non-nullable columns, filled before aggregation.
Expected: values differ.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates import Accumulators
from windowing.engine.aggregates.schema import Role

_EXTREMES = (Role.MIN, Role.MAX)


class FillingAccumulators(Accumulators):
    """Replaces null by 0."""

    def _lift_field(self, field: str, values: pl.Series) -> list[pl.Series]:
        return [
            column.fill_null(0) if self.schema.columns[column.name].role in _EXTREMES else column
            for column in super()._lift_field(field, values)
        ]


BUG = planted_bug(
    planted("null_is_zero_in_minima", FillingAccumulators),
    "deterministic",
    shows_in=some_query(computing(("min", "max"))),
)
