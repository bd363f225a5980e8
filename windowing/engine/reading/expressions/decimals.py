"""Arithmetic of decimals by columns, on their unscaled whole numbers.

Each operation is given twice: of int64s, with the rows that this does not decide, and of Python's
integers for those rows (`windowing.engine.reading.expressions.whole`). Results beyond 38 digits
fail; what lies between may have more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from windowing.engine.reading.expressions.arithmetic import Floats, finite, multiply
from windowing.engine.reading.expressions.vectors import Bools, Computed, any_of
from windowing.engine.reading.expressions.whole import (
    Exact,
    Ints,
    Whole,
    compared,
    computed,
    doubtful_rows,
    filled,
)
from windowing.model.lengths import INT64_MIN

Fast: TypeAlias = Callable[..., tuple[Any, Bools]]
Rounding: TypeAlias = Callable[[Any, Any], Any]

_TENS: Final = 18
"""The largest power of ten within int64 is this one."""
_EXACT: Final = 1 << 53
"""Whole numbers up to this one are doubles."""
_EXACT_TENS: Final = 22
"""Powers of ten up to this one are doubles."""


def operation(fast: Fast, exact: Callable[..., Exact], *powers: int) -> Callable[..., Computed]:
    """Return an operation on numbers, each of which is multiplied by a power of ten before."""
    scaled = _scaled(fast, powers), _scaled_exact(exact, powers)
    return lambda *numbers: computed(*scaled, *numbers)


def comparison(compare: Callable[[Any, Any], Any], *powers: int) -> Callable[..., Computed]:
    """Return a comparison of numbers, each of which is multiplied by a power of ten before."""
    fast = _scaled(lambda left, right: (compare(left, right), np.zeros(1, bool)), powers)
    exact = _scaled_exact(compare, powers)
    return lambda *numbers: (compared(fast, exact, *numbers), None)


def division(power: int, *, rounding: Rounding) -> Callable[[Whole, Whole], Computed]:
    """Return a division of numbers, the first of which is multiplied by a power of ten before.

    Args:
        rounding: a quotient by a positive number, from `half_away`, `down`, `up`.
    """

    def fast(left: Ints, right: Ints) -> tuple[Ints, Bools]:
        dividend, doubtful = _times(left, power)
        doubtful = doubtful | (dividend == INT64_MIN) | (right == INT64_MIN)
        positive = np.where(right == 0, 1, np.abs(right))
        return rounding(np.where(right < 0, -dividend, dividend), positive), doubtful

    def exact(left: Exact, right: Exact) -> Exact:
        dividend, divisor = left * 10**power, np.where(right == 0, 1, abs(right))
        return np.asarray(rounding(np.where(right < 0, -dividend, dividend), divisor), object)

    def divide(left: Whole, right: Whole) -> Computed:
        zero = right.low == 0
        zero[right.rows] = False
        quotient, wrong = computed(fast, exact, left, right)
        return quotient, any_of(zero, wrong)

    return divide


def shifted(power: int, *, rounding: Rounding) -> Callable[[Whole], Computed]:
    """Return a multiplication by a power of ten, rounded to whole numbers if it is negative."""
    if power >= 0:
        return operation(lambda low: (low, np.zeros(1, bool)), lambda exact: exact, power)
    divisor = 10**-power

    def fast(low: Ints) -> tuple[Ints, Bools]:
        if -power > _TENS:
            return low, low != 0
        return rounding(low, np.int64(divisor)), low == INT64_MIN

    return lambda whole: computed(fast, lambda exact: rounding(exact, divisor), whole)


def down(dividend: Any, divisor: Any) -> Any:
    """Return the quotient rounded down."""
    return dividend // divisor


def up(dividend: Any, divisor: Any) -> Any:
    """Return the quotient rounded up."""
    return -(-dividend // divisor)


def half_away(dividend: Any, divisor: Any) -> Any:
    """Return the nearest quotient, of two the one further from zero."""
    size = abs(dividend)
    quotient = size // divisor
    rest = size - quotient * divisor
    nearest = quotient + (rest >= divisor - rest)
    return np.where(dividend < 0, -nearest, nearest)


def doubles(scale: int) -> Callable[[Whole], Floats]:
    """Return a conversion to the nearest doubles.

    A quotient of two doubles is rounded once; rows whose numbers are none are divided exactly.
    """

    def convert(whole: Whole) -> Floats:
        numbers = whole.low / float(10**scale)
        doubtful = np.abs(whole.low) > _EXACT if scale <= _EXACT_TENS else whole.low != 0
        doubtful |= whole.low == INT64_MIN  # which has no size
        rows = doubtful_rows(doubtful, len(whole.low), (whole,))
        if len(rows):
            numbers[rows] = [number / 10**scale for number in whole.exact(rows)]
        return numbers

    return convert


def of_doubles(power: int) -> Callable[[Floats], tuple[Whole, Bools | None]]:
    """Return floats times a power of ten, as whole numbers, half away from zero."""

    def convert(numbers: Floats) -> tuple[Whole, Bools | None]:
        low, doubtful = nearest_whole(numbers, power)
        rows = np.flatnonzero(doubtful)
        if not len(rows):
            return Whole.narrow(low), None
        return filled(low, rows, _exactly(numbers[rows], power))

    return convert


def nearest_whole(numbers: Floats, power: int) -> tuple[Ints, Bools]:
    """Return floats times a power of ten, half away from zero; and where that is in doubt.

    The error of the product is known exactly (Dekker's product), so that the side of a half is.
    """
    if not 0 <= power <= _EXACT_TENS:
        return np.zeros(len(numbers), np.int64), numbers != 0
    size = np.abs(numbers)
    product, error = _product(size, float(10**power))
    doubtful = ~(product < _EXACT / 2) | (size > 1e250) | ((size < 1e-250) & (size != 0))
    whole = np.floor(np.where(doubtful, 0.0, product))
    side = (product - whole - 0.5) + error
    nearest = (whole + (side >= 0)).astype(np.int64)
    return np.where(numbers < 0, -nearest, nearest), doubtful


def rounded_floats(places: int) -> Callable[[Floats], Computed]:
    """Return a rounding of floats by their exact value, to the nearest double of the result."""
    factor = 10 ** abs(places)

    def rounded(numbers: Floats) -> Computed:
        whole, doubtful = nearest_whole(numbers, places)
        found = whole / float(factor) if places else whole.astype(np.float64)
        # From here on doubles are whole numbers.
        unchanged = (np.abs(numbers) >= _EXACT) & (places >= 0)
        found = np.where(unchanged, numbers, found)
        rows = np.flatnonzero(doubtful & ~unchanged)
        if len(rows):
            found[rows] = [_double(exact, places) for exact in _exactly(numbers[rows], places)]
        return finite(found)

    return rounded


def _double(whole: int, places: int) -> float:
    """Return the double nearest to a whole number by a power of ten; infinite beyond them."""
    try:
        return whole / 10**places if places >= 0 else float(whole * 10**-places)
    except OverflowError:
        return np.inf


def _product(left: Floats, right: float) -> tuple[Floats, Floats]:
    """Return the product of doubles, and the rest by which it misses the exact one."""
    product = left * right
    (high, low), (top, bottom) = _halves(left), _halves(np.float64(right))
    return product, ((high * top - product) + high * bottom + low * top) + low * bottom


def _halves(number: Any) -> tuple[Any, Any]:
    """Cut doubles into two of 26 bits each (Veltkamp)."""
    far = number * 134_217_729.0
    high = far - (far - number)
    return high, number - high


def _exactly(numbers: Floats, power: int) -> Exact:
    found = np.empty(len(numbers), object)
    for row, number in enumerate(numbers.tolist()):
        top, bottom = number.as_integer_ratio() if np.isfinite(number) else (0, 1)
        top, bottom = (top * 10**power, bottom) if power >= 0 else (top, bottom * 10**-power)
        size = (2 * abs(top) + bottom) // (2 * bottom)
        found[row] = -size if top < 0 else size
    return found


def _times(low: Ints, power: int) -> tuple[Ints, Bools]:
    if power == 0:
        return low, np.zeros(1, bool)
    if power > _TENS:
        return np.zeros_like(low), low != 0
    return multiply(low, np.array([10**power]))


def _scaled(fast: Fast, powers: tuple[int, ...]) -> Fast:
    if not any(powers):
        return fast

    def on_scaled(*numbers: Ints) -> tuple[Any, Bools]:
        scaled = [_times(low, power) for low, power in zip(numbers, powers, strict=True)]
        result, doubtful = fast(*(low for low, _ in scaled))
        wrapped = any_of(*(wrapped for _, wrapped in scaled))
        return result, doubtful if wrapped is None else doubtful | wrapped

    return on_scaled


def _scaled_exact(exact: Callable[..., Any], powers: tuple[int, ...]) -> Callable[..., Exact]:
    if not any(powers):
        return exact
    factors = [10**power for power in powers]
    return lambda *numbers: exact(*(n * f for n, f in zip(numbers, factors, strict=True)))
