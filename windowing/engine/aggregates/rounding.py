"""The only rounding: exact rationals to doubles, to nearest, ties to even.

Overflow gives ±inf; zero has no sign.
"""

from __future__ import annotations

import math

_ROOT_BITS = 64
"""More bits than a double has, so that one lower digit can represent all that follow."""


def divided(numerator: int, denominator: int) -> float:
    """Return `numerator / denominator`, rounded once; the denominator is positive."""
    try:
        return numerator / denominator + 0.0
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


def root(numerator: int, denominator: int) -> float:
    """Return the square root of a non-negative rational, rounded once.

    The integer part of the root, scaled to at least 64 bits, plus a digit for inexactness, rounds
    like the root itself.
    """
    if numerator == 0:
        return 0.0
    wanted = 2 * _ROOT_BITS - (numerator.bit_length() - denominator.bit_length())
    shift = wanted + wanted % 2
    scaled, below = numerator << max(shift, 0), denominator << max(-shift, 0)
    whole = math.isqrt(scaled // below)
    inexact = whole * whole * below != scaled
    digits = 2 * whole + inexact
    half = shift // 2 + 1
    return divided(digits << max(-half, 0), 1 << max(half, 0))
