"""Exact sums of numbers and of their squares, which merge by addition, and their only rounding.

Decimals are integers, in units of their last place; those that may not fit 64 bits are four limbs.

Sums of integers are limbs of 32 bits, so that no order overflows: two int64 columns, four for
squares. Capacity: 2^29 records; with halves of fewer bits (`half_bits`) 2^bits, with more
2^(61 - bits). Only a result must fit 64 bits.

Sums of floats are integer bins of 32 bits, one int64 column per bin in use: a double spans three,
its square five. A bin gains less than 2^33 per record, so 2^30 records fit into a partial state.
Source: Demmel & Nguyen, "Fast Reproducible Floating-Point Summation", ARITH 2013, and Müller et
al., "Reproducible Floating-Point Aggregation in RDBMSs", ICDE 2018, for the idea of bins fixed by
exponent; ours hold integers, so that nothing is lost.

Rounding is to nearest, ties to even; overflow gives ±inf; zero has no sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.effects import took_effect
from windowing.engine.storage.decimals import words
from windowing.engine.tuning import tuning

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


WIDE_LIMBS = 4
"""How many limbs decimals have that may not fit 64 bits: 128 bits, as Arrow stores them."""


def limbs_of_decimals(values: pl.Series) -> list[Ints]:
    """Split decimals without null, in units of their last place, into limbs, lowest first.

    All but the last are below 2^32; that one has the sign. Capacity: 2^31 records.
    """
    low, high = words(values).T
    mask = np.int64((1 << _LIMB_BITS) - 1)
    return [low & mask, (low >> _LIMB_BITS) & mask, high & mask, high >> _LIMB_BITS]


def words_of_limbs(limbs: Sequence[Ints]) -> tuple[Ints, NDArray[np.bool_]]:
    """Return sums of limbs, lowest first, as low and high 64 bits, and which of them fit so."""
    lowest, low, high, highest = _carried(limbs)
    joined = np.stack([lowest | low << _LIMB_BITS, high | highest << _LIMB_BITS], axis=1)
    return joined, highest == highest << _LIMB_BITS >> _LIMB_BITS


def words_of_decimals(values: pl.Series) -> Ints:
    """Return decimals without null that fit 64 bits in units of their last place."""
    return words(values)[:, 0].copy()


def half_even(numerator: int, denominator: int) -> int:
    """Return a quotient rounded to an integer, ties to even; the denominator is positive."""
    quotient, rest = divmod(numerator, denominator)
    return quotient + (2 * rest > denominator or (2 * rest == denominator and quotient % 2))


def _joined(limbs: Sequence[Ints], bits: int) -> list[int]:
    rows = zip(*(limb.tolist() for limb in limbs), strict=True)
    return [sum(limb << (bits * i) for i, limb in enumerate(row)) for row in rows]


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
