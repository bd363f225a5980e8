"""State that is let go at the end of its retention, although late records wait for their epoch.

Defect: a window is kept for the retention, and not for the epoch that follows it.
How one gets it: purge at `end + retention`, as it stands in the documents.
Expected: the last revisions of a window show too little, or are missing.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from chaos.guilty.guilt import guilty
from chaos.guilty.lairs import lair, sliding, updates
from chaos.guilty.planted import planted
from windowing import wids
from windowing.emission.sliding import SlidingEmitter
from windowing.progress.reached import Progress
from windowing.wids import ENDED, Ints


class PurgingEmitter(SlidingEmitter):
    """Keeps for the retention and no longer."""

    def _gone(self, units: pl.DataFrame, after: Progress) -> Ints:
        past_us = wids.lowered(after.of(units), self._query.retention_us or 0)
        return np.minimum(wids.ended_by(self._grid, past_us), ENDED - 1)


GUILTY = guilty(
    planted("retention_ends_before_the_epoch", PurgingEmitter),
    "deterministic",
    lair=lair(sliding, updates),
)
