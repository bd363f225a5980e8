"""A late record that enters its window because the window is still open.

Defect: the window waits for the slowest lane and accepts records until then. So it depends on
the interleaving whether revision 0 holds the record.
How one gets it: "if the window exists, add to it".
Expected: revision 0 has records that belong to a later revision by the definition.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import ON_TIME, Ints
from windowing.engine.windows.sliding_lane import Opened, SlidingLanePart


class WelcomingLanePart(SlidingLanePart):
    """Marks late records as if they were on time."""

    def _opened(self, progress_us: Ints) -> Opened:
        return replace(super()._opened(progress_us), release=np.full_like(progress_us, ON_TIME))


BUG = planted_bug(
    planted("late_in_revision_0", WelcomingLanePart),
    "deterministic",
    "closing",
    shows_in=some_query(sliding, updates),
)
