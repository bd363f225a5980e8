"""Windows aligned at their starts that begin with the origin, as those aligned at their ends do.

Defect: records before the origin are outside, though windows begin at origin + k S for every k.
How one gets it: one rule for both alignments.
Expected: records are missing from windows, and counted as outside.
"""

from __future__ import annotations

from chaos.planted_bugs.guilt import guilty
from chaos.planted_bugs.lairs import lair, sliding
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags, Ints
from windowing.engine.windows.sliding import SlidingLanePart
from windowing.model.file.pipeline import Pipeline, Query


def aligned_by_start(_: Pipeline, query: Query) -> bool:
    """Windows begin at origin + k S."""
    return query.window.align == "start"


class ClippingLanePart(SlidingLanePart):
    """Begins with the origin."""

    def _outside(self, values: Ints) -> Flags:
        return values < self._query.window.origin


GUILTY = guilty(
    planted("start_aligned_first_window", ClippingLanePart),
    "conservation",
    "deterministic",
    lair=lair(sliding, aligned_by_start),
)
