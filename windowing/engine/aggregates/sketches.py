"""Sketches of integers only, so that they merge to the same bits in any order.

Quantiles: DDSketch with bins of equal width within each power of two, never collapsed. A bin's
number is integer arithmetic on a double's mantissa and exponent, not a logarithm, whose last bit
may depend on the processor. The number of bins is not bounded, as collapsing would make merging
depend on the order. Source: Masson, Rim, Lee, "DDSketch", VLDB 2019, sections 2 and 3.

Distinct values: the k smallest hashes of the values. Of n numbers spread evenly over an interval,
the k-th smallest gives an estimate of n. Source: Bar-Yossef et al., "Counting Distinct Elements in
a Data Stream", RANDOM 2002; Beyer et al., "On Synopses for Distinct-Value Estimation", SIGMOD 2007.
"""

from __future__ import annotations

import hashlib
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

# Below all exponents that frexp gives, so that bins of positive values are positive.
_EXPONENT_LOWEST = -1080
HASH_BITS = 64


def bins_per_octave(accuracy: Fraction) -> int:
    """Return the smallest power of two of bins whose middles are within `accuracy`."""
    bins = 1
    while Fraction(1, 2 * bins) > accuracy:
        bins *= 2
    return bins


def bin_numbers(values: NDArray[np.float64], per_octave: int) -> NDArray[np.int64]:
    """Return the bin of each value: 0 for zero, else with the value's sign; monotonic."""
    fraction, exponent = np.frexp(np.abs(values))
    # The fraction is in [1/2, 1); multiplying it by a power of two is exact.
    within = ((fraction - 0.5) * (2 * per_octave)).astype(np.int64)
    number = (exponent.astype(np.int64) - _EXPONENT_LOWEST) * per_octave + within
    return np.where(values == 0, 0, np.where(values < 0, -number, number))


def bin_middles(numbers: NDArray[np.int64], per_octave: int) -> NDArray[np.float64]:
    """Return the middle of each bin, an exact double."""
    magnitude = np.abs(numbers)
    exponent = magnitude // per_octave + _EXPONENT_LOWEST
    fraction = 0.5 + (magnitude % per_octave + 0.5) / (2 * per_octave)
    middle = np.ldexp(fraction, exponent.astype(np.int32))
    return np.where(numbers == 0, 0.0, np.where(numbers < 0, -middle, middle))


def hashes(values: pl.Series) -> pl.Series:
    """Return a 64-bit hash of each value; null of null.

    The first 8 bytes, big-endian, of BLAKE2b over an integer's 8 bytes, a double's 8 bytes (both
    big-endian), or a text's UTF-8; of a decimal its text, with all digits after the point; a bool
    is 1 or 0.
    """
    unique = values.drop_nulls().unique()
    hashed = pl.Series([_hash(value) for value in unique.to_list()], dtype=pl.UInt64)
    return values.replace_strict(unique, hashed, default=None, return_dtype=pl.UInt64)


def _hash(value: int | float | str | Decimal) -> int:
    if isinstance(value, str):
        data = value.encode()
    elif isinstance(value, Decimal):
        data = f"{value:f}".encode()
    else:
        data = struct.pack(">q" if isinstance(value, int) else ">d", value)
    return int.from_bytes(hashlib.blake2b(data, digest_size=HASH_BITS // 8).digest(), "big")


def estimated_count(kept: int, largest: int, size: int) -> int:
    """Estimate the number of distinct values.

    Args:
        kept: the number of hashes held, at most `size`.
        largest: the largest of them.
        size: the most hashes held; with fewer, the count is exact.

    Returns:
        `(size - 1) * 2^64 / largest`, rounded down, once `size` hashes are held.
    """
    return kept if kept < size else (size - 1 << HASH_BITS) // max(largest, 1)
