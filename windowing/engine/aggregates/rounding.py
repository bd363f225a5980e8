"""What rounds, rounds here: exact rationals to doubles, to nearest, ties to even.

Beyond the doubles a result is ±inf; what rounds to zero is 0.0, of no sign.
"""

from __future__ import annotations

import math

_ROOT_BITS = 64
"""More than a double has, so that a digit below stands for all that follow."""


def divided(numerator: int, denominator: int) -> float:
    """`numerator / denominator`, rounded once; the denominator is positive."""
    try:
        return numerator / denominator + 0.0
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


def root(numerator: int, denominator: int) -> float:
    """The square root of a rational that is not negative, rounded once.

    The integer part of a root, scaled to 64 bits or more, and one digit that says whether it was
    exact, round as the root itself does.
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
