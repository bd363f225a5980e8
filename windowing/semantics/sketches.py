"""The exact result of an approximate aggregate: its error is part of the definition."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from fractions import Fraction
from hashlib import blake2b


def middle_of_bin(value: int | float, accuracy: Fraction) -> float:
    """The middle of the bin that a value lies in.

    Each [2^e, 2^(e+1)) is cut into 2^m bins of equal width, m as small as leaves no value further
    from the middle of its bin than the accuracy times itself. Negative values mirror positive ones.
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
    """How many distinct values there seem to be, by the smallest hashes.

    With fewer than `size` distinct hashes, their number; else `(size - 1) * 2^64` over the hash
    that is the `size`-th smallest, rounded down.
    """
    hashes = sorted({_hash(value) for value in values})
    if len(hashes) < size:
        return len(hashes)
    return (size - 1) * 2**64 // max(hashes[size - 1], 1)


def _hash(value: int | float | str) -> int:
    """The first 8 bytes of BLAKE2b over 8 bytes of int or double, big-endian, or over UTF-8."""
    match value:
        case str():
            data = value.encode()
        case int():
            data = value.to_bytes(8, "big", signed=True)
        case float():
            data = struct.pack(">d", value)
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")
