"""Exact sums of integers: two columns of 32-bit halves, so that no order of adding overflows.

Algebra: commutative group. Partial state: two int64 columns. Cost: two additions per record.
Capacity: 2^31 records. The result must fit 64 bits; partial sums need not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BITS = 32
_MASK = np.int64((1 << _BITS) - 1)

Ints = NDArray[np.int64]


def to_halves(values: Ints) -> tuple[Ints, Ints]:
    """High and low half of each integer: `value = high * 2^32 + low`, 0 <= low < 2^32."""
    return values >> _BITS, values & _MASK


def join_halves(high: Ints, low: Ints) -> list[int]:
    """The exact sums, of any size."""
    if len(high) and max(abs(int(high.min())), abs(int(high.max()))) < 1 << 30:
        small: list[int] = ((high << _BITS) + low).tolist()
        return small
    return [(h << _BITS) + part for h, part in zip(high.tolist(), low.tolist(), strict=True)]
