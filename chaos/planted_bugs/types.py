"""Defects in values of types that are neither plain numbers nor texts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.aggregates.exact import Ints, limbs_of_decimals
from windowing.engine.aggregates.sums import TruthColumns
from windowing.engine.reading.decimals import read_decimal
from windowing.engine.reading.objects import BadValue
from windowing.model.types import FieldType

_TYPED = Wish(types=1.0)


# Decimals that were doubles on their way. How one gets it: a JSON library gives numbers as floats.
@planted(
    "decimal_through_a_float",
    "deterministic, dead letters, conservation",
    at="windowing.engine.reading.steps:read_decimal",
    shows_in=some_query(computing(("sum", "min", "first", "last", "collect"), "decimal")),
    wish=_TYPED,
)
def through_a_float(value: Any, type_: FieldType) -> Decimal:
    exact = read_decimal(value, type_)
    try:
        return read_decimal(Decimal(repr(float(exact))), type_)
    except BadValue:
        return exact


# Sums of decimals of 128 bits whose highest bits have no sign. How one gets it: all limbs are cut
# out by the same mask.
@planted(
    "decimal_limbs_without_a_sign",
    "deterministic",
    at="windowing.engine.aggregates.sums:limbs_of_decimals",
    shows_in=some_query(computing(("sum", "mean"), "decimal")),
    wish=_TYPED,
)
def without_a_sign(values: pl.Series) -> list[Ints]:
    *lower, highest = limbs_of_decimals(values)
    return [*lower, highest & np.int64((1 << 32) - 1)]


# `all` of a null and of what is true is true. How one gets it: like other aggregates, it skips
# nulls.
@planted(
    "all_skips_nulls",
    "deterministic",
    at="windowing.engine.aggregates.sums:TruthColumns.results",
    shows_in=some_query(computing(("all", "any"))),
    wish=_TYPED,
)
def without_nulls(columns: TruthColumns, function: str, partials: pl.DataFrame) -> pl.Series:
    none = pl.lit(0, dtype=pl.Int64).alias(columns.null)
    return _results(columns, function, partials.with_columns(none))


_results = TruthColumns.results


# `any(x) where c` takes records for which c does not hold as nulls. How one gets it: the condition
# makes a null of x, as it does for all other aggregates.
@planted(
    "any_takes_what_is_not_taken",
    "deterministic",
    at="windowing.engine.aggregates.sums:TruthColumns.lift",
    shows_in=some_query(computing(("all", "any"))),
    wish=Wish(computed=1.0),
)
def untaken_are_nulls(
    columns: TruthColumns, values: pl.Series, holds: pl.Series | None = None
) -> list[pl.Series]:
    return _lift(columns, values, None if holds is None else holds | True)


_lift = TruthColumns.lift
