"""State that is dropped when its window has ended, although late records may still come.

Defect: compaction asks for the end, and not for the end, the retention and the epoch after it.
How one gets it: state that is purged when its window has fired.
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
    """Keeps what is open."""

    def _gone(self, units: pl.DataFrame, after: Progress) -> Ints:
        return np.minimum(self._numbering.ended_by(after.of(units)), ENDED - 1)


BUG = planted_bug(
    planted("window_forgotten_at_its_end", PurgingShardPart),
    "deterministic",
    shows_in=some_query(sliding, updates),
)
