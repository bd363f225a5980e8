"""Aggregates over the records of a window: exact rationals, rounded once, at the end."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf

from windowing.spec.fields import Aggregate, Kind
from windowing.spec.lengths import INT64_MAX, INT64_MIN
from windowing.spec.rows import Scalar

_SUBNORMAL_BITS = 1074
"""Every finite double is a whole multiple of 2^-1074."""


class IntSumError(ArithmeticError):
    """A sum of ints leaves 64 bits: the run stops, as it has no right answer to give."""


def aggregate(spec: Aggregate, kind: Kind, values: Sequence[Scalar]) -> Scalar:
    """Compute one aggregate over a field; nulls are skipped, and nothing left gives null.

    Args:
        spec: which one.
        kind: the type of its field.
        values: of the field, one for every record of the window in canonical order, nulls too.

    Raises:
        IntSumError: a sum of ints beyond 64 bits.
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    if spec.function in ("first", "last"):
        return known[0] if spec.function == "first" else known[-1]
    if spec.function == "count_distinct":
        return len(set(known))
    numbers = [value for value in known if isinstance(value, int | float)]
    if spec.function == "min":
        return min(numbers)
    if spec.function == "max":
        return max(numbers)
    total = exact_sum(numbers)
    if spec.function == "mean":
        return rounded(total / len(numbers))
    if kind == "float":
        return rounded(total)
    if not INT64_MIN <= total <= INT64_MAX:
        msg = f"{spec.name}: sum({spec.field}) is {total}, which does not fit 64 bits"
        raise IntSumError(msg)
    return int(total)


def exact_sum(numbers: Sequence[int | float]) -> Fraction:
    """Add without rounding: ints as they are, doubles as multiples of the smallest double."""
    whole, scaled = 0, 0
    for number in numbers:
        if isinstance(number, int):
            whole += number
        else:
            numerator, denominator = number.as_integer_ratio()
            scaled += numerator * (2**_SUBNORMAL_BITS // denominator)
    return whole + Fraction(scaled, 2**_SUBNORMAL_BITS)


def rounded(exact: Fraction) -> float:
    """The nearest double, ties to even; beyond the doubles an infinity; zero has no sign."""
    try:
        return exact.numerator / exact.denominator + 0.0
    except OverflowError:
        return inf if exact > 0 else -inf
