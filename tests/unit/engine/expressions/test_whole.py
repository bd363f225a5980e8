"""Columns of whole numbers, and decimals and floats by them: against Python's own numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windowing.engine.reading.expressions import arithmetic, decimals
from windowing.engine.reading.expressions.vectors import Computed
from windowing.engine.reading.expressions.whole import LIMIT, Whole

MOST, LEAST = 2**63 - 1, -(2**63)

often = settings(max_examples=max(settings.default.max_examples if settings.default else 0, 100))

small = st.integers(LEAST, MOST)
near = st.sampled_from([0, 1, -1, MOST, LEAST, MOST + 1, LEAST - 1, LIMIT - 1, 1 - LIMIT, 10**19])
numbers = st.one_of(st.integers(-1000, 1000), small, near, st.integers(1 - LIMIT, LIMIT - 1))
columns = st.lists(numbers, min_size=1, max_size=6)
pairs = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6)
floats = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e6, 1e6),
    st.tuples(st.integers(-(10**8), 10**8), st.integers(0, 6)).map(
        lambda two: two[0] / 10 ** two[1]
    ),
    st.integers(-(2**54), 2**54).map(lambda halves: halves / 2),
)


def exact(whole: Whole) -> list[int]:
    return [int(number) for number in whole.exact(np.arange(len(whole.low)))]


def half_away(number: Fraction) -> int:
    size = math.floor(abs(number) + Fraction(1, 2))
    return size if number > 0 else -size


def agree(found: Computed, wanted: list[int | None]) -> None:
    """Compare numbers; None: it fails."""
    whole, failed = found
    wrong = np.zeros(len(whole.low), bool) if failed is None else failed
    got = [None if bad else number for number, bad in zip(exact(whole), wrong, strict=True)]
    assert got == wanted


def kept(number: int) -> int | None:
    return number if abs(number) < LIMIT else None


@often
@given(columns)
def test_words_come_back(column: list[int]) -> None:
    whole = Whole.of(column)
    assert exact(whole) == column
    assert exact(Whole.of_words(whole.words(len(column)))) == column


@often
@given(pairs, st.integers(0, 40), st.integers(0, 3))
@pytest.mark.parametrize(
    ("fast", "python"),
    [
        (arithmetic.add, operator.add),
        (arithmetic.subtract, operator.sub),
        (arithmetic.multiply, operator.mul),
    ],
)
def test_arithmetic(
    fast: Callable[..., Any],
    python: Callable[[int, int], int],
    rows: list[tuple[int, int]],
    left_power: int,
    right_power: int,
) -> None:
    left, right = (Whole.of(column) for column in zip(*rows, strict=True))
    found = decimals.operation(fast, python, left_power, right_power)(left, right)
    agree(found, [kept(python(a * 10**left_power, b * 10**right_power)) for a, b in rows])


@often
@given(pairs, numbers, st.integers(0, 40))
def test_comparison(rows: list[tuple[int, int]], other: int, power: int) -> None:
    left, right = (Whole.of(column) for column in zip(*rows, strict=True))
    for compare in (operator.lt, operator.eq, operator.ge):
        answer, _ = decimals.comparison(compare, 0, power)(left, right)
        assert answer.tolist() == [compare(a, b * 10**power) for a, b in rows]
        answer, _ = decimals.comparison(compare, power, 0)(left, Whole.of([other]))
        assert answer.tolist() == [compare(a * 10**power, other) for a, _ in rows]


@often
@given(pairs, st.integers(0, 44))
def test_division(rows: list[tuple[int, int]], power: int) -> None:
    left, right = (Whole.of(column) for column in zip(*rows, strict=True))
    found = decimals.division(power, rounding=decimals.half_away)(left, right)
    wanted = [kept(half_away(Fraction(a * 10**power, b))) if b else None for a, b in rows]
    agree(found, wanted)


@often
@given(columns, st.integers(-40, 40))
def test_shifts(column: list[int], power: int) -> None:
    roundings = {decimals.down: math.floor, decimals.up: math.ceil, decimals.half_away: half_away}
    for rounding, python in roundings.items():
        found = decimals.shifted(power, rounding=rounding)(Whole.of(column))
        agree(found, [kept(python(number * Fraction(10) ** power)) for number in column])


@often
@given(pairs, st.lists(st.booleans(), min_size=6, max_size=6), numbers)
def test_choice(rows: list[tuple[int, int]], mask: list[bool], other: int) -> None:
    takes = np.array(mask[: len(rows)])
    left, right = (Whole.of(column) for column in zip(*rows, strict=True))
    chosen = [a if is_ else b for is_, (a, b) in zip(takes, rows, strict=True)]
    assert exact(Whole.choose(takes, left, right)) == chosen
    chosen = [other if is_ else b for is_, (_, b) in zip(takes, rows, strict=True)]
    assert exact(Whole.choose(takes, Whole.of([other]), right)) == chosen


@often
@given(columns, st.integers(0, 38))
def test_the_nearest_doubles(column: list[int], scale: int) -> None:
    found = decimals.doubles(scale)(Whole.of(column))
    assert found.tolist() == [number / 10**scale for number in column]


@often
@given(st.lists(floats, min_size=1, max_size=6), st.integers(-3, 38))
def test_exact_values_of_floats(column: list[float], power: int) -> None:
    with np.errstate(all="ignore"):
        found = decimals.of_doubles(power)(np.array(column))
    agree(found, [kept(half_away(Fraction(x) * Fraction(10) ** power)) for x in column])


@often
@given(st.lists(floats, min_size=1, max_size=6), st.integers(-4, 30))
def test_rounded_floats(column: list[float], places: int) -> None:
    with np.errstate(all="ignore"):
        found, failed = decimals.rounded_floats(places)(np.array(column))
    for number, rounded, bad in zip(column, found.tolist(), failed, strict=True):
        step = Fraction(10) ** -places
        try:
            wanted = float(half_away(Fraction(number) / step) * step)
        except OverflowError:
            assert bad
            continue
        assert (rounded, bad) == (wanted, False)
        assert math.copysign(1, rounded) == 1 or rounded < 0


@often
@given(st.lists(st.tuples(small, small), min_size=1, max_size=6))
def test_ints_that_leave_64_bits(rows: list[tuple[int, int]]) -> None:
    left, right = (np.array(column) for column in zip(*rows, strict=True))
    operations: dict[Callable[..., Any], Callable[[int, int], int]] = {
        arithmetic.add: operator.add,
        arithmetic.subtract: operator.sub,
        arithmetic.multiply: operator.mul,
        arithmetic.floor_divide: operator.floordiv,
        arithmetic.modulo: operator.mod,
    }
    for fast, python in operations.items():
        with np.errstate(all="ignore"):
            found, wrong = fast(left, right)
        for (a, b), number, bad in zip(rows, found.tolist(), wrong, strict=True):
            divides = fast in {arithmetic.floor_divide, arithmetic.modulo}
            wanted = None if divides and b == 0 else python(a, b)
            fits = wanted is not None and LEAST <= wanted <= MOST
            assert (None if bad else number) == (wanted if fits else None)
