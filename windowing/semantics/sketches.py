"""Exact results of approximate aggregates: the error is part of the definition."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from fractions import Fraction
from hashlib import blake2b


def middle_of_bin(value: int | float, accuracy: Fraction) -> float:
    """Return the middle of the bin that contains a value.

    Each [2^e, 2^(e+1)) is divided into 2^m bins of equal width, with the smallest m that keeps
    every value v within accuracy * v of the middle of its bin. Negative values mirror positive
    ones.
    """
    exact = abs(Fraction(float(value)))
    if exact == 0:
        return 0.0
    octave = Fraction(1)
    while octave * 2 <= exact:
        octave *= 2
    while octave > exact:
        octave /= 2
    bins = 1
    while octave / bins / 2 > accuracy * octave:
        bins *= 2
    width = octave / bins
    middle = float((exact // width + Fraction(1, 2)) * width)
    return -middle if value < 0 else middle


def distinct_estimate(values: Iterable[int | float | str], size: int) -> int:
    """Estimate the number of distinct values from the smallest hashes.

    With fewer than `size` distinct hashes, their number; else `(size - 1) * 2^64` over the
    `size`-th smallest hash, rounded down.
    """
    hashes = sorted({_hash(value) for value in values})
    if len(hashes) < size:
        return len(hashes)
    return (size - 1) * 2**64 // max(hashes[size - 1], 1)


def _hash(value: int | float | str) -> int:
    """Return the first 8 bytes of BLAKE2b over 8 bytes of int or double, big-endian, or UTF-8."""
    match value:
        case str():
            data = value.encode()
        case int():
            data = value.to_bytes(8, "big", signed=True)
        case float():
            data = struct.pack(">d", value)
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")
