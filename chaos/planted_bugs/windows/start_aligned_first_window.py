"""Windows aligned at their starts that begin with the origin, as those aligned at their ends do.

Defect: records before the origin are outside, though windows begin at origin + k S for every k.
How one gets it: one rule for both alignments.
Expected: records are missing from windows, and counted as outside.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags, Ints
from windowing.engine.windows.assign.sliding import SlidingAssigner
from windowing.model.file.pipeline import Pipeline, Query


def aligned_by_start(_: Pipeline, query: Query) -> bool:
    """Windows begin at origin + k S."""
    return query.window.align == "start"


class ClippingAssigner(SlidingAssigner):
    """Begins with the origin."""

    def _outside(self, values: Ints) -> Flags:
        return values < self._query.window.origin


BUG = planted_bug(
    planted("start_aligned_first_window", ClippingAssigner),
    "conservation",
    "deterministic",
    shows_in=some_query(sliding, aligned_by_start),
)
