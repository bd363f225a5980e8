"""The knee of a curve of late records: where more slack starts to buy little.

Source: Satopää, Albrecht, Irwin, Raghavan, "Finding a 'Kneedle' in a Haystack", ICDCS workshops
2011: the point farthest from the chord. The share is on a logarithmic scale, since each reduction
to a tenth is worth as much as the previous one; so a curve that falls by the same factor everywhere
has no knee.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

_CLEAR: Final = 0.2
"""The least distance of a knee from the chord, with both axes scaled to 0 to 1."""


def knee_of(slacks: Sequence[int] | np.ndarray, late: Sequence[float] | np.ndarray) -> int | None:
    """Find the slack at the knee of the curve; None: the curve has none.

    Args:
        slacks: rising; the last is the largest candidate.
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
