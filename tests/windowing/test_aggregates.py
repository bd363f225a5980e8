"""Exact accumulators against exact arithmetic, in any grouping and order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import HARD_FLOATS
from windowing.aggregates import Accumulators, AggregateOverflow
from windowing.aggregates.exact_float import round_once, to_bins, total_of
from windowing.spec.fields import Aggregate, FieldType

FLOATS = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(HARD_FLOATS))
INTS = st.integers(-(2**63), 2**63 - 1)


def rounded(exact: Fraction) -> float:
    """The nearest double, ties to even; zero without a sign."""
    try:
        return float(exact) + 0.0
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


@given(st.lists(FLOATS, max_size=30))
def test_bins_hold_a_sum_exactly(values: list[float]) -> None:
    bins = to_bins(np.array(values, dtype=np.float64))
    total = total_of({number: int(column.sum()) for number, column in bins.items()})
    assert round_once(total) == rounded(sum(map(Fraction, values), Fraction(0)))


def _accumulators(kind: str) -> Accumulators:
    functions = ("sum", "mean", "min", "max")
    aggregates = [Aggregate(name, name, "x") for name in functions]
    return Accumulators(aggregates, {"x": FieldType(kind, nullable=True)})


def _merged(
    kind: str, values: list[float | int | None], groups: list[int]
) -> tuple[Accumulators, pl.DataFrame]:
    """Merge single values in the given groups first, then the groups."""
    accumulators = _accumulators(kind)
    dtype = pl.Int64 if kind == "int" else pl.Float64
    parts = []
    for group in sorted(set(groups)):
        chosen = [value for value, own in zip(values, groups, strict=True) if own == group]
        records = pl.DataFrame(
            {"offset": range(len(chosen)), "=x": pl.Series(chosen, dtype=dtype)},
            schema_overrides={"offset": pl.Int64},
        )
        lifted = pl.DataFrame(accumulators.lift(records)).with_columns(key=pl.lit(0))
        parts.append(accumulators.merge(lifted, ["key"]))
    return accumulators, accumulators.merge(accumulators.concat(parts), ["key"])


@given(
    st.lists(st.tuples(st.one_of(st.none(), FLOATS), st.integers(0, 3)), min_size=1, max_size=20)
)
def test_floats_merge_in_any_grouping(pairs: list[tuple[float | None, int]]) -> None:
    values = [None if value is None else value + 0.0 for value, _ in pairs]
    accumulators, merged = _merged("float", values, [group for _, group in pairs])
    present = [value for value in values if value is not None]
    exact = sum(map(Fraction, present), Fraction(0))
    expected = (
        [rounded(exact), rounded(exact / len(present)), min(present), max(present)]
        if present
        else [None] * 4
    )
    assert [series[0] for series in accumulators.results(merged)] == expected


@given(st.lists(st.tuples(st.one_of(st.none(), INTS), st.integers(0, 3)), min_size=1, max_size=20))
def test_integers_merge_without_overflow_on_the_way(pairs: list[tuple[int | None, int]]) -> None:
    accumulators, merged = _merged("int", [v for v, _ in pairs], [group for _, group in pairs])
    present = [value for value, _ in pairs if value is not None]
    total = sum(present)
    if not -(2**63) <= total < 2**63:
        with pytest.raises(AggregateOverflow) as raised:
            accumulators.results(merged)
        assert raised.value.total == total
        return
    expected = (
        [total, rounded(Fraction(total, len(present))), min(present), max(present)]
        if present
        else [None] * 4
    )
    assert [series[0] for series in accumulators.results(merged)] == expected
