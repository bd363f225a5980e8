"""Aggregates that keep values, except for the null key.

Defect: merged values are joined to their keys by equality.
How one gets it: SQL's `NULL = NULL`.
Expected: values of the null key are null.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, nullable_key, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates import Accumulators
from windowing.engine.aggregates.schema import Role
from windowing.engine.groups import Groups

_BAGS = ("first", "last", "collect", "median", "quantile", "count_distinct", "top_k")


class EqualAccumulators(Accumulators):
    """Loses the bags of null keys."""

    def merged(  # noqa: D102
        self,
        partials: pl.DataFrame,
        groups: Groups,
        by: Sequence[str],
        ends: Mapping[str, Role] | None = None,
        without: Collection[str] = (),
    ) -> pl.DataFrame:
        merged = super().merged(partials, groups, by, ends, without)
        keys = [pl.col(name).is_null() for name in by if name.startswith("=")]
        if not keys:
            return merged
        lost = pl.any_horizontal(keys)
        return merged.with_columns(
            pl.when(lost).then(None).otherwise(pl.col(name)).alias(name)
            for name in self.schema.held
            if name in merged.columns
        )


BUG = planted_bug(
    planted("bag_of_a_null_key_lost", EqualAccumulators),
    "deterministic",
    shows_in=some_query(computing(_BAGS), nullable_key),
)
