"""Exact numbers: every rule about digits is one about fractions, judged when a result is kept."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.types import PRECISION_MAX
from windowing.semantics.expressions.failure import ExpressionFailure

Number = int | float | Decimal


def whole(number: int) -> int:
    """Return an int that 64 bits hold; others fail."""
    if not INT64_MIN <= number <= INT64_MAX:
        raise ExpressionFailure("beyond int64")
    return number


def real(number: float) -> float:
    """Return a float that is finite, with one zero; others fail."""
    if not math.isfinite(number):
        raise ExpressionFailure("not finite")
    return number or 0.0


def decimal(number: Fraction, scale: int, digits: int = PRECISION_MAX) -> Decimal:
    """Return a number with `scale` digits after the point, rounded; more than `digits` fail."""
    counted = half_away(number * 10**scale)
    if abs(counted) >= 10**digits:
        raise ExpressionFailure(f"more than {digits} digits")
    return Decimal((int(counted < 0), tuple(map(int, str(abs(counted)))), -scale))


def half_away(number: Fraction) -> int:
    """Return the nearest int; of two that are as near, the one farther from zero."""
    size = math.floor(abs(number) + Fraction(1, 2))
    return size if number >= 0 else -size


def scale_of(number: Number) -> int:
    """Return how many digits an exact number has after the point."""
    exponent = number.as_tuple().exponent if isinstance(number, Decimal) else 0
    assert isinstance(exponent, int)  # noqa: S101 - every decimal is finite
    return -exponent


def nearest(number: Number | Fraction) -> float:
    """Return the nearest float; half to even."""
    try:
        return real(float(number))
    except OverflowError:
        raise ExpressionFailure("not finite") from None


def compare(left: Number, right: Number) -> int:
    """Return -1, 0 or 1: as floats if one is a float, else exactly."""
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
        return (left > right) - (left < right)
    first, second = Fraction(left), Fraction(right)
    return (first > second) - (first < second)


def calculate(operator: str, left: Number, right: Number) -> Number:
    """Return `left operator right`, of `+ - * /`."""
    if isinstance(left, float) or isinstance(right, float):
        return _of_floats(operator, float(left), float(right))
    if isinstance(left, int) and isinstance(right, int):
        if operator == "/":
            return _of_floats("/", float(left), float(right))
        return whole(int(_exactly(operator, Fraction(left), Fraction(right))))
    scales = scale_of(left), scale_of(right)
    scale = {"*": sum(scales), "/": scales[0] + 6}.get(operator, max(scales))
    return decimal(_exactly(operator, Fraction(left), Fraction(right)), scale)


def _exactly(operator: str, left: Fraction, right: Fraction) -> Fraction:
    if operator == "/" and not right:
        raise ExpressionFailure("division by zero")
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    return left * right if operator == "*" else left / right


def _of_floats(operator: str, left: float, right: float) -> float:
    if operator == "/" and not right:
        raise ExpressionFailure("division by zero")
    if operator == "+":
        return real(left + right)
    if operator == "-":
        return real(left - right)
    return real(left * right if operator == "*" else left / right)


def floor_divided(operator: str, left: int, right: int) -> int:
    """Return `left div right` or `left mod right`."""
    if not right:
        raise ExpressionFailure("division by zero")
    return whole(left // right if operator == "div" else left % right)


def rounded(number: Number, places: int) -> Number:
    """Return a number with at most so many digits after the point, of its own kind."""
    scale = max(places, 0)
    if isinstance(number, Decimal) and scale >= scale_of(number) and places >= 0:
        return number
    step = Fraction(10) ** -places
    exact = half_away(Fraction(number) / step) * step
    if isinstance(number, float):
        return nearest(exact)
    return whole(int(exact)) if isinstance(number, int) else _kept(exact, number, scale)


def _kept(exact: Fraction, number: Decimal, scale: int) -> Decimal:
    return decimal(exact, min(scale, scale_of(number)))


def to_whole(number: Number, *, up: bool) -> Number:
    """Return `floor` or `ceil` of a number, of its own kind."""
    exact = math.ceil(number) if up else math.floor(number)
    if isinstance(number, float):
        return real(float(exact))
    return exact if isinstance(number, int) else decimal(Fraction(exact), 0)


def negated(number: Number) -> Number:
    """Return `-number`, of its own kind."""
    if isinstance(number, Decimal):
        return decimal(-Fraction(number), scale_of(number))
    return real(-number) if isinstance(number, float) else whole(-number)
