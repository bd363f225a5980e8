"""Sketches made of integers alone, so that they merge to the same bits in any order.

Quantiles: DDSketch with bins of equal width within each power of two, never collapsed. A bin's
number is integer arithmetic on a double's mantissa and exponent: no logarithm, whose last bit may
depend on the processor, and no bound on the number of bins, which would make merging depend on the
order. Source: Masson, Rim, Lee, "DDSketch", VLDB 2019, sections 2 and 3.

Distinct values: the smallest hashes of the values. Of the k smallest of n numbers spread evenly
over an interval, the k-th tells n. Source: Bar-Yossef et al., "Counting Distinct Elements in a Data
Stream", RANDOM 2002; Beyer et al., "On Synopses for Distinct-Value Estimation", SIGMOD 2007.
"""

from __future__ import annotations

import hashlib
import struct
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

# Exponents of doubles, as frexp gives them, are above this: bins of positive values are positive.
_EXPONENT_LOWEST = -1080
HASH_BITS = 64


def bins_per_octave(accuracy: Fraction) -> int:
    """The fewest bins, a power of two, whose middles are within `accuracy` of all their values."""
    bins = 1
    while Fraction(1, 2 * bins) > accuracy:
        bins *= 2
    return bins


def bin_numbers(values: NDArray[np.float64], per_octave: int) -> NDArray[np.int64]:
    """The bin of each value: 0 for zero, of the value's sign otherwise, growing with it."""
    fraction, exponent = np.frexp(np.abs(values))
    # The fraction lies in [1/2, 1); a power of two times it is exact.
    within = ((fraction - 0.5) * (2 * per_octave)).astype(np.int64)
    number = (exponent.astype(np.int64) - _EXPONENT_LOWEST) * per_octave + within
    return np.where(values == 0, 0, np.where(values < 0, -number, number))


def bin_middles(numbers: NDArray[np.int64], per_octave: int) -> NDArray[np.float64]:
    """The middle of each bin, which is a double of few digits."""
    magnitude = np.abs(numbers)
    exponent = magnitude // per_octave + _EXPONENT_LOWEST
    fraction = 0.5 + (magnitude % per_octave + 0.5) / (2 * per_octave)
    middle = np.ldexp(fraction, exponent.astype(np.int32))
    return np.where(numbers == 0, 0.0, np.where(numbers < 0, -middle, middle))


def hashes(values: pl.Series) -> pl.Series:
    """A hash of 64 bits of each value; null of null.

    The first 8 bytes, big-endian, of BLAKE2b over an integer's 8 bytes, a double's 8 bytes (both
    big-endian), or a text's UTF-8.
    """
    unique = values.drop_nulls().unique()
    hashed = pl.Series([_hash(value) for value in unique.to_list()], dtype=pl.UInt64)
    return values.replace_strict(unique, hashed, default=None, return_dtype=pl.UInt64)


def _hash(value: int | float | str) -> int:
    if isinstance(value, str):
        data = value.encode()
    else:
        data = struct.pack(">q" if isinstance(value, int) else ">d", value)
    return int.from_bytes(hashlib.blake2b(data, digest_size=HASH_BITS // 8).digest(), "big")


def estimated_count(kept: int, largest: int, size: int) -> int:
    """How many distinct values there are.

    Args:
        kept: how many hashes are held, at most `size`.
        largest: the largest of them.
        size: how many are held at most; fewer are all there are.

    Returns:
        `(size - 1) * 2^64 / largest`, rounded down, once `size` hashes are held.
    """
    return kept if kept < size else (size - 1 << HASH_BITS) // max(largest, 1)
