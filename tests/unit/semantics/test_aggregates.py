"""Exact sums and means, rounded once; the oracles are fsum and decimal arithmetic."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import HARD_FLOATS
from windowing.model.fields import Aggregate
from windowing.model.types import FieldType
from windowing.semantics.aggregates import NoValueError, aggregate, exact_sum, rounded

hard = st.sampled_from(HARD_FLOATS) | st.floats(allow_nan=False, allow_infinity=False)
lists = st.lists(hard, min_size=1, max_size=12)

# Wide enough for any sum of doubles without rounding, and for quotients far beyond a double.
EXACT = Context(prec=2500, Emax=999_999, Emin=-999_999)


def by_decimal(numbers: list[float], divisor: int) -> float:
    total = Decimal(0)
    for number in numbers:
        total = EXACT.add(total, Decimal(number))
    return float(EXACT.divide(total, Decimal(divisor))) + 0.0


@given(lists)
def test_sums_agree_with_fsum(numbers: list[float]) -> None:
    found = rounded(exact_sum(numbers))
    try:
        assert found == math.fsum(numbers)
    except OverflowError:  # fsum gives up on partial sums beyond the doubles
        assert found == by_decimal(numbers, 1)
    assert math.copysign(1, found) == 1 or found != 0


@given(lists)
def test_means_round_once(numbers: list[float]) -> None:
    found = aggregate(Aggregate("m", "mean", "x"), FieldType("float"), numbers)
    assert found == by_decimal(numbers, len(numbers))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=9))
def test_means_of_ints_are_exact(numbers: list[int]) -> None:
    found = aggregate(Aggregate("m", "mean", "v"), FieldType("int"), numbers)
    assert found == float(Fraction(sum(numbers), len(numbers)))


def test_beyond_the_doubles() -> None:
    big = 1.7976931348623157e308
    assert rounded(exact_sum([big, big])) == math.inf
    assert rounded(exact_sum([-big, -big])) == -math.inf
    half_an_ulp = 2.0**969
    assert rounded(exact_sum([big, half_an_ulp])) == big
    assert rounded(exact_sum([big, half_an_ulp, half_an_ulp])) == math.inf


def test_nulls_are_skipped_and_nothing_is_null() -> None:
    for function in ("sum", "mean", "min", "max"):
        spec = Aggregate("a", function, "v")  # type: ignore[arg-type]
        assert aggregate(spec, FieldType("int"), [None, None]) is None
        assert aggregate(spec, FieldType("int"), [None, 6]) == 6


def test_sums_of_ints_are_ints_of_64_bits() -> None:
    spec = Aggregate("s", "sum", "v")
    assert aggregate(spec, FieldType("int"), [2**63 - 1, 1, -1]) == 2**63 - 1
    for numbers in ([2**63 - 1, 1], [-(2**63), -1]):
        with pytest.raises(NoValueError, match="does not fit 64 bits"):
            aggregate(spec, FieldType("int"), numbers)
    assert repr(aggregate(spec, FieldType("float"), [1.0, 2.0])) == "3.0"
