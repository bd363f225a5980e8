"""State that is dropped at its window's end, although late records may still come.

Defect: compaction drops at the end, not at the end plus retention plus epoch.
How one gets it: purging state when its window fires.
Expected: late revisions show too little, or have the wrong number.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.reached import Progress
from windowing.engine.wids import ENDED, Ints
from windowing.engine.windows.sliding import SlidingShardPart


class PurgingShardPart(SlidingShardPart):
    """Keeps open windows only."""

    def _gone(self, units: pl.DataFrame, after: Progress) -> Ints:
        return np.minimum(self._numbering.ended_by(after.of(units)), ENDED - 1)


BUG = planted_bug(
    planted("window_forgotten_at_its_end", PurgingShardPart),
    "deterministic",
    shows_in=some_query(sliding, updates),
)
