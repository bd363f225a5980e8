"""Exact sums of floats and of their squares: integer bins of 32 bits, mergeable by addition.

Algebra: commutative group. Partial state: one int64 column per bin in use (a double spans three,
its square five). Cost: as many additions per record; bins in use grow with the spread of exponents.
Capacity: a bin gains less than 2^33 per record, so 2^30 records fit into one partial state.

Source: Demmel & Nguyen, "Fast Reproducible Floating-Point Summation", ARITH 2013, and Müller et
al., "Reproducible Floating-Point Aggregation in RDBMSs", ICDE 2018, for the idea of bins fixed by
exponent; ours hold integers, so that nothing is lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windowing.engine.aggregates.exact_int import limbs_of_square

BIN_BITS = 32
# `frexp` gives any finite double as an integer of 53 bits times 2^(e - 53), e >= -1073.
_MANTISSA_BITS = 53
LOWEST = -1073 - _MANTISSA_BITS
"""Bin 0 of a sum counts in units of 2^LOWEST, bin 0 of a sum of squares in 2^(2 LOWEST)."""
_HIGHEST = 1024 - _MANTISSA_BITS
BINS = (_HIGHEST - LOWEST) // BIN_BITS + 3
"""The most bins of any sum: the largest double spans the last three."""
SQUARE_BINS = 2 * (_HIGHEST - LOWEST) // BIN_BITS + 5
_MASK = np.int64((1 << BIN_BITS) - 1)

Ints = NDArray[np.int64]


def to_bins(values: NDArray[np.float64]) -> dict[int, Ints]:
    """Split finite values into bins.

    Returns:
        per bin in use, a column parallel to `values`; value i is the sum over bins b of
        `column[b][i] * 2^(32 b + LOWEST)`, exactly.
    """
    mantissa, position = _taken_apart(values)
    return _spread([mantissa & _MASK, mantissa >> BIN_BITS], position, mantissa != 0)


def to_square_bins(values: NDArray[np.float64]) -> dict[int, Ints]:
    """Split the squares of finite values into bins.

    Returns:
        as for `to_bins`, for squares: that of value i is the sum over bins b of
        `column[b][i] * 2^(32 b + 2 LOWEST)`, exactly.
    """
    mantissa, position = _taken_apart(values)
    return _spread(_carried(limbs_of_square(mantissa)), 2 * position, mantissa != 0)


def _taken_apart(values: NDArray[np.float64]) -> tuple[Ints, Ints]:
    """Return integers m and k such that each value is `m * 2^(k + LOWEST)`; |m| < 2^53, k >= 0."""
    fraction, exponent = np.frexp(values)
    mantissa = np.ldexp(fraction, _MANTISSA_BITS).astype(np.int64)
    return mantissa, exponent.astype(np.int64) - _MANTISSA_BITS - LOWEST


def _carried(limbs: Sequence[Ints]) -> list[Ints]:
    """Return the same numbers with all limbs except the last within 32 bits."""
    carry = np.zeros_like(limbs[0])
    result = []
    for limb in limbs[:-1]:
        whole = limb + carry
        result.append(whole & _MASK)
        carry = whole >> BIN_BITS
    return [*result, limbs[-1] + carry]


def _spread(limbs: Sequence[Ints], position: Ints, used: NDArray[np.bool_]) -> dict[int, Ints]:
    """Distribute integers, given as limbs of 32 bits (the last signed), over bins from a bit on."""
    first, shift = position // BIN_BITS, position % BIN_BITS
    shifted = [limb << shift for limb in limbs]
    digits = [part & _MASK for part in shifted]
    for i, part in enumerate(shifted[:-1], 1):
        digits[i] = digits[i] + (part >> BIN_BITS)
    digits.append(shifted[-1] >> BIN_BITS)
    numbers = {int(b) + i for b in np.unique(first[used]) for i in range(len(digits))}
    bins = {b: np.zeros(len(position), dtype=np.int64) for b in sorted(numbers)}
    for i, digit in enumerate(digits):
        for b, column in bins.items():
            here = first == b - i
            column[here] += digit[here]
    return bins
