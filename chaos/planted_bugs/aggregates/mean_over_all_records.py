"""Means that divide by the number of records, including nulls.

Defect: sum / count(*) instead of sum / count(field).
How one gets it: one counter for all aggregates of a window.
Expected: means differ where a value is null.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates import Accumulators
from windowing.engine.aggregates.plan import Values
from windowing.engine.columns import RECORDS
from windowing.model.fields import Aggregate


class CountingAccumulators(Accumulators):
    """Counts records, including those whose value is null."""

    def _result(self, aggregate: Aggregate, partials: pl.DataFrame) -> Values:
        if aggregate.field is not None and aggregate.function == "mean":
            count = self.schema.sums[aggregate.field].count
            partials = partials.with_columns(pl.col(RECORDS).alias(count))
        return super()._result(aggregate, partials)


BUG = planted_bug(
    planted("mean_over_all_records", CountingAccumulators),
    "deterministic",
    shows_in=some_query(computing(("mean",))),
)
