"""Exact sums of floats: integer bins of 32 bits, mergeable by addition, rounded once at the end.

Algebra: commutative group. Partial state: one int64 column per bin in use (a double spans three).
Cost: three additions per record; bins in use follow the spread of exponents in the data.
Capacity: a bin gains less than 2^33 per record, so 2^30 records fit into one partial state.

Source: Demmel & Nguyen, "Fast Reproducible Floating-Point Summation", ARITH 2013, and Müller et
al., "Reproducible Floating-Point Aggregation in RDBMSs", ICDE 2018, for the idea of bins fixed by
exponent; ours hold integers, so that nothing is lost at all.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

BIN_BITS = 32
# `frexp` gives every finite double as an integer of 53 bits times 2^(e - 53), e >= -1073.
_MANTISSA_BITS = 53
_LOWEST = -1073 - _MANTISSA_BITS
_MASK = np.int64((1 << BIN_BITS) - 1)


def to_bins(values: NDArray[np.float64]) -> dict[int, NDArray[np.int64]]:
    """Split finite values into bins.

    Returns:
        per bin in use, a column as long as `values`; value i is the sum over bins b of
        `column[b][i] * 2^(32 b + LOWEST)`, exactly.
    """
    fraction, exponent = np.frexp(values)
    mantissa = np.ldexp(fraction, _MANTISSA_BITS).astype(np.int64)
    position = exponent.astype(np.int64) - _MANTISSA_BITS - _LOWEST
    first, shift = position // BIN_BITS, position % BIN_BITS
    low = (mantissa & _MASK) << shift
    high = (mantissa >> BIN_BITS) << shift
    digits = (low & _MASK, (low >> BIN_BITS) + (high & _MASK), high >> BIN_BITS)
    used = {int(b) + i for b in np.unique(first[mantissa != 0]) for i in range(3)}
    bins = {b: np.zeros(len(values), dtype=np.int64) for b in sorted(used)}
    for i, digit in enumerate(digits):
        for b, column in bins.items():
            here = first == b - i
            column[here] += digit[here]
    return bins


def total_of(digits: dict[int, int]) -> int:
    """The exact sum as an integer multiple of 2^LOWEST."""
    return sum(digit << (BIN_BITS * b) for b, digit in digits.items())


def round_once(total: int, count: int = 1) -> float:
    """`total * 2^LOWEST / count`, rounded to nearest, ties to even.

    Beyond the doubles it is ±inf; what rounds to zero is 0.0, of no sign.
    """
    try:
        return total / (count << -_LOWEST) + 0.0
    except OverflowError:
        return math.inf if total > 0 else -math.inf
