"""Windows that take what lies before the origin.

Defect: the origin aligns windows, and does not begin them.
How one gets it: `floor((ts - origin) / slide)` without a look at the sign.
Expected: records outside are counted as applied.
"""

from __future__ import annotations

import numpy as np

from chaos.planted_bugs.guilt import guilty
from chaos.planted_bugs.lairs import lair, sliding
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags, Ints
from windowing.engine.windows.sliding import SlidingLanePart
from windowing.model.file.pipeline import Pipeline, Query


def aligned_by_end(_: Pipeline, query: Query) -> bool:
    """Windows begin at the origin."""
    return query.window.align == "end"


class EarlyLanePart(SlidingLanePart):
    """Finds nothing outside."""

    def _outside(self, values: Ints) -> Flags:
        return np.zeros(len(values), dtype=bool)


GUILTY = guilty(
    planted("before_the_origin", EarlyLanePart),
    "conservation",
    lair=lair(sliding, aligned_by_end),
)
