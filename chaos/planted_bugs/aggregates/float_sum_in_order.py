"""Floating-point sums added up in the order of arrival.

Defect: addition of doubles is not associative, so a sum depends on chunks, lanes and merges.
How one gets it: `sum` in every engine that we know.
Expected: a sum or mean differs in its last bits; a rerun of a batch gives another result.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates import Accumulators
from windowing.engine.aggregates.plan import Values
from windowing.engine.aggregates.schema import Role
from windowing.engine.columns import state_column
from windowing.engine.groups import Groups
from windowing.model.fields import Aggregate

_PLAIN = "plain"


class PlainSums(Accumulators):
    """Keeps one double for the sum of a float field."""

    def _lift_field(self, field: str, values: pl.Series) -> list[pl.Series]:
        columns = super()._lift_field(field, values)
        if self._fields[field] == "float":
            columns.append(values.fill_null(0.0).alias(state_column(field, _PLAIN)))
        return columns

    def merged(  # noqa: D102
        self,
        partials: pl.DataFrame,
        groups: Groups,
        by: Sequence[str],
        ends: Mapping[str, Role] | None = None,
        without: Collection[str] = (),
    ) -> pl.DataFrame:
        merged = super().merged(partials, groups, by, ends, without)
        for name in (state_column(field, _PLAIN) for field in self._fields):
            if name in partials.columns:
                total = np.zeros(groups.count)
                np.add.at(total, groups.number, partials[name].to_numpy())
                merged = merged.with_columns(pl.Series(name, total))
        return merged

    def _result(self, aggregate: Aggregate, partials: pl.DataFrame) -> Values:
        field, function = aggregate.field, aggregate.function
        if field is None or self._fields[field] != "float" or function not in ("sum", "mean"):
            return super()._result(aggregate, partials)
        total = partials[state_column(field, _PLAIN)].to_numpy()
        counts = partials[self.schema.sums[field].count].to_numpy()
        value = total / np.maximum(counts, 1) if function == "mean" else total
        null = pl.Series(aggregate.name, value + 0.0, dtype=pl.Float64)
        return null.to_frame().select(pl.when(pl.Series(counts > 0)).then(pl.first())).to_series()


def listed(*_: object) -> None:
    """List the windows of every slice: a roll-up knows no columns but the schema's."""


BUG = planted_bug(
    planted(
        "float_sum_in_order",
        PlainSums,
        names={"windowing.engine.windows.sliding:rolled_up": listed},
    ),
    "deterministic",
    "repeatable",
    shows_in=some_query(computing(("sum", "mean"), "float")),
)
