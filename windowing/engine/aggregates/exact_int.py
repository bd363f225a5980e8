"""Exact sums of integers and of their squares: limbs of 32 bits, so that no order overflows.

Algebra: commutative group. Partial state: two int64 columns for a sum, four for a sum of squares.
Cost: as many additions per record. Capacity: 2^29 records; with halves of fewer bits (`half_bits`)
2^bits, with more 2^(61 - bits). Only a result must fit 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windowing.engine.effects import took_effect
from windowing.engine.tuning import tuning

_LIMB_BITS = 32

Ints = NDArray[np.int64]


def to_halves(values: Ints) -> tuple[Ints, Ints]:
    """Return high and low half of each integer: `value = high * 2^32 + low`, -2^31 <= low < 2^31.

    The low half has a sign, so that what is small has no high half, negative or not: columns that
    are all zero are neither added up nor stored.
    """
    bits = tuning().half_bits
    sign, mask = np.int64(1 << (bits - 1)), np.int64((1 << bits) - 1)
    if int(values.min(initial=0)) >= -sign and int(values.max(initial=0)) < sign:
        return np.zeros_like(values), values
    low = ((values & mask) ^ sign) - sign
    # Not (values - low) >> 32, which overflows for the largest.
    return (values >> bits) + (low < 0), low


def join_halves(high: Ints, low: Ints) -> Ints | list[int]:
    """Return the exact sums: an array if all are known to fit 64 bits."""
    bits = tuning().half_bits
    took_effect("carried halves", high)
    most = max(abs(int(high.min(initial=0))), abs(int(high.max(initial=0))))
    if most + 1 << bits <= 1 << tuning().whole_sum_bits:
        joined: Ints = (high << bits) + low
        return joined
    return _joined([low, high], bits)


def limbs_of_square(values: Ints) -> list[Ints]:
    """Split each square: `sum of limb i * 2^(32 i)`, four limbs below 2^34, lowest first."""
    # The magnitude of -2^63 fits only unsigned; negation wraps to exactly that.
    magnitude = np.where(values < 0, -values.astype(np.uint64), values.astype(np.uint64))
    two, half = np.uint64(2), np.uint64(_LIMB_BITS)
    mask = np.uint64((1 << _LIMB_BITS) - 1)
    high, low = magnitude >> half, magnitude & mask
    # (high 2^32 + low)^2; each product is below 2^64, and is split before anything is added.
    lowest, middle, highest = low * low, high * low, high * high
    limbs = [
        lowest & mask,
        (lowest >> half) + two * (middle & mask),
        (highest & mask) + two * (middle >> half),
        highest >> half,
    ]
    return [limb.astype(np.int64) for limb in limbs]


def join_limbs(limbs: Sequence[Ints]) -> list[int]:
    """Return the exact sums of limbs, lowest first."""
    return _joined(limbs, _LIMB_BITS)


def _joined(limbs: Sequence[Ints], bits: int) -> list[int]:
    rows = zip(*(limb.tolist() for limb in limbs), strict=True)
    return [sum(limb << (bits * i) for i, limb in enumerate(row)) for row in rows]
