"""The largest of all numbers so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windowing.engine.loops.compiled import compiled

Ints = NDArray[np.int64]


@compiled
def rising(begin: int, values: Ints, found: Ints) -> None:
    """Find the largest of a number and of the values before each, and at last of all.

    Args:
        begin: the number.
        values: the values.
        found: to be filled; one longer than the values.
    """
    most = begin
    for place in range(len(values)):
        found[place] = most
        most = max(most, values[place])
    found[len(values)] = most
