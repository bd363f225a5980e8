"""Exact sums of integers and of their squares: limbs of 32 bits, so that no order overflows.

Algebra: commutative group. Partial state: two int64 columns for a sum, four for a sum of squares.
Cost: as many additions per record. Capacity: 2^29 records. Only a result must fit 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_BITS = 32
_MASK = np.int64((1 << _BITS) - 1)
_SIGN = np.int64(1 << (_BITS - 1))

Ints = NDArray[np.int64]


def to_halves(values: Ints) -> tuple[Ints, Ints]:
    """Return high and low half of each integer: `value = high * 2^32 + low`, -2^31 <= low < 2^31.

    The low half has a sign, so that what is small has no high half, negative or not: columns that
    are all zero are neither added up nor stored.
    """
    if int(values.min(initial=0)) >= -_SIGN and int(values.max(initial=0)) < _SIGN:
        return np.zeros_like(values), values
    low = ((values & _MASK) ^ _SIGN) - _SIGN
    # Not (values - low) >> 32, which overflows for the largest.
    return (values >> _BITS) + (low < 0), low


def join_halves(high: Ints, low: Ints) -> Ints | None:
    """Return the exact sums; None if some may not fit 64 bits."""
    if max(abs(int(high.min(initial=0))), abs(int(high.max(initial=0)))) < 1 << 30:
        joined: Ints = (high << _BITS) + low
        return joined
    return None


def limbs_of_square(values: Ints) -> list[Ints]:
    """Split each square: `sum of limb i * 2^(32 i)`, four limbs below 2^34, lowest first."""
    # The magnitude of -2^63 fits only unsigned; negation wraps to exactly that.
    magnitude = np.where(values < 0, -values.astype(np.uint64), values.astype(np.uint64))
    mask = np.uint64(_MASK)
    high, low = magnitude >> np.uint64(_BITS), magnitude & mask
    # (high 2^32 + low)^2; each product is below 2^64, and is split before anything is added.
    lowest, middle, highest = low * low, high * low, high * high
    two, bits = np.uint64(2), np.uint64(_BITS)
    limbs = [
        lowest & mask,
        (lowest >> bits) + two * (middle & mask),
        (highest & mask) + two * (middle >> bits),
        highest >> bits,
    ]
    return [limb.astype(np.int64) for limb in limbs]


def join_limbs(limbs: Sequence[Ints]) -> list[int]:
    """Return the exact sums of limbs, lowest first."""
    rows = zip(*(limb.tolist() for limb in limbs), strict=True)
    return [sum(limb << (_BITS * i) for i, limb in enumerate(row)) for row in rows]
