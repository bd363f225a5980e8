"""Writing places in bytes as Arrow's string views."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windowing.engine.loops.compiled import compiled

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]


@compiled
def view(starts: Ints, lengths: Ints, data: Bytes, views: Bytes) -> None:
    """Write places as Arrow's string views: texts of up to twelve bytes, or where others are.

    Args:
        starts: where the places begin.
        lengths: how long they are.
        data: where they are, less than 2 GiB.
        views: to be filled, 16 bytes for each.
    """
    for row in range(len(starts)):
        start, length = starts[row], lengths[row]
        for number in range(4):
            views[row, number] = (length >> (8 * number)) & 0xFF
        if length <= 12:
            for number in range(12):
                views[row, 4 + number] = data[start + number] if number < length else 0
            continue
        for number in range(4):
            views[row, 4 + number] = data[start + number]
            views[row, 8 + number] = 0
            views[row, 12 + number] = (start >> (8 * number)) & 0xFF
