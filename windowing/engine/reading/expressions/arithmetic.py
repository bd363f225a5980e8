"""Arithmetic of ints and floats by columns, and where it leaves their range.

Functions of ints compute in int64 and return where the result wrapped or is not defined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windowing.engine.reading.expressions.vectors import Bools, Computed
from windowing.engine.reading.expressions.whole import Ints
from windowing.model.lengths import INT64_MIN

Floats: TypeAlias = NDArray[np.float64]

_SURE: Final = 2.0**62
"""Doubles up to here stand for a product that is within int64, however they were rounded."""
_OVER: Final = 1.5 * 2.0**63
"""Those from here on for one that is not."""


def add(left: Ints, right: Ints) -> tuple[Ints, Bools]:
    """Add; where it wrapped, the sign is neither's."""
    total = left + right
    return total, ((left ^ total) & (right ^ total)) < 0


def subtract(left: Ints, right: Ints) -> tuple[Ints, Bools]:
    """Subtract; where it wrapped, the sign is not that of the left, and the right's differs."""
    rest = left - right
    return rest, ((left ^ right) & (left ^ rest)) < 0


def multiply(left: Ints, right: Ints) -> tuple[Ints, Bools]:
    """Multiply; near the limits a product that wrapped has the wrong sign."""
    product, about = left * right, left.astype(np.float64) * right
    size = np.abs(about)
    wrong_sign = (product < 0) != (about < 0)
    return product, (size >= _OVER) | ((size > _SURE) & wrong_sign)


def negate(number: Ints) -> tuple[Ints, Bools]:
    """Negate; the smallest int has no opposite."""
    return -number, number == INT64_MIN


def absolute(number: Ints) -> tuple[Ints, Bools]:
    """Return the size; that of the smallest int is none."""
    return np.abs(number), number == INT64_MIN


def floor_divide(left: Ints, right: Ints) -> tuple[Ints, Bools]:
    """Divide and round down."""
    wrong = (right == 0) | ((right == -1) & (left == INT64_MIN))
    return left // np.where(wrong, 1, right), wrong


def modulo(left: Ints, right: Ints) -> tuple[Ints, Bools]:
    """Return what is left by `floor_divide`: it has the divisor's sign."""
    # Everything is a multiple of -1; the smallest int divided by it would trap.
    return left % np.where((right == 0) | (right == -1), 1, right), right == 0


def finite(numbers: Floats) -> Computed:
    """Return floats with one zero, and where they are not finite."""
    return numbers + 0.0, ~np.isfinite(numbers)


def float_operation(operation: Callable[..., Floats]) -> Callable[..., Computed]:
    """Return an operation on floats that fails where its result is not finite."""
    return lambda *numbers: finite(operation(*numbers))
