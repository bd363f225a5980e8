"""Floating-point sums added up in the order of arrival.

Defect: addition of doubles is not associative, so a sum depends on chunks, lanes and merges.
How one gets it: `sum` of every engine that we know.
Expected: a sum or mean differs in its last bits; a batch that is run again differs from itself.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from chaos.guilty.guilt import guilty
from chaos.guilty.planted import planted_lanes
from chaos.simulator.parts import Parts
from windowing.aggregates import Accumulators
from windowing.aggregates.plan import Values
from windowing.lane import Lane
from windowing.shard import Shard
from windowing.spec.fields import Aggregate
from windowing.spec.pipeline import Pipeline


class PlainSums(Accumulators):
    """Keeps one double for the sum of a float field."""

    def _lift_field(self, field: str, kind: str, values: pl.Series) -> list[pl.Series]:
        columns = super()._lift_field(field, kind, values)
        if kind == "float":
            columns.append(values.fill_null(0.0).alias(f"{field}#plain"))
        return columns

    def _merged(self, name: str) -> pl.Expr:
        return pl.col(name).sum() if name.endswith("#plain") else super()._merged(name)

    def _result(self, aggregate: Aggregate, partials: pl.DataFrame) -> Values:
        field, function = aggregate.field, aggregate.function
        if field is None or self._fields[field] != "float" or function not in ("sum", "mean"):
            return super()._result(aggregate, partials)
        total = partials[f"{field}#plain"].to_numpy()
        counts = partials[f"{field}#n"].to_numpy()
        value = total / np.maximum(counts, 1) if function == "mean" else total
        null = pl.Series(aggregate.name, value + 0.0, dtype=pl.Float64)
        return null.to_frame().select(pl.when(pl.Series(counts > 0)).then(pl.first())).to_series()


def _plant(pipeline: Pipeline, owners: list[object]) -> None:
    for query, owner in zip(pipeline.queries, owners, strict=True):
        sums = PlainSums.of(query, pipeline.source)
        owner._accumulators = sums  # type: ignore[attr-defined]
        if hasattr(owner, "_results"):
            owner._results._accumulators = sums


class PlainLane(Lane):
    """A lane whose partial states are plain sums."""

    def __init__(self, pipeline: Pipeline, partition: int) -> None:
        super().__init__(pipeline, partition)
        _plant(pipeline, [*self._assigners.values()])


class PlainShard(Shard):
    """A shard that merges plain sums."""

    def __init__(self, pipeline: Pipeline) -> None:
        super().__init__(pipeline)
        _plant(pipeline, [*self._emitters.values()])


GUILTY = guilty(
    Parts("float_sum_in_order", lanes=planted_lanes(PlainLane), shard=PlainShard),
    "deterministic",
    "repeatable",
)
