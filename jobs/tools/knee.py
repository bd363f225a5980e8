"""The knee of a curve of late records: where more slack stops buying much.

Source: Satopää, Albrecht, Irwin, Raghavan, "Finding a 'Kneedle' in a Haystack", ICDCS workshops
2011: the point farthest from the chord. The share is taken by its logarithm, since each tenth of
the late records that is saved is worth as much as the one before; so a curve that falls by the same
factor everywhere has no knee.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

_CLEAR: Final = 0.2
"""How far from the chord a knee lies at the least, both axes taken from 0 to 1."""


def knee_of(slacks: Sequence[int] | np.ndarray, late: Sequence[float] | np.ndarray) -> int | None:
    """Which of several slacks is the knee of their curve; None: the curve has none.

    Args:
        slacks: rising; the last is the largest that comes into question.
        late: the share of records that each leaves late, above zero.
    """
    width, share = np.asarray(slacks, dtype=np.float64), np.log(np.asarray(late, dtype=np.float64))
    if len(width) < 3 or share[0] <= share[-1]:
        return None
    along = (width - width[0]) / (width[-1] - width[0])
    down = (share - share[-1]) / (share[0] - share[-1])
    below = 1 - along - down
    at = int(np.argmax(below))
    return at if below[at] >= _CLEAR else None
