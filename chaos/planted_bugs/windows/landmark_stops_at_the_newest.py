"""Landmark windows that stop at the newest record when the log ends.

Defect: windows after it that a bound has closed are not emitted.
How one gets it: the end of input is taken to be the last record.
Expected: rows are missing at the end.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import landmark, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.reached import Progress
from windowing.engine.wids import Ints
from windowing.engine.windows.landmark import LandmarkShardPart


class ShortShardPart(LandmarkShardPart):
    """Uses records, not bounds, as the end of the log."""

    def _ended_between(
        self, units: pl.DataFrame, before: Progress, after: Progress
    ) -> tuple[Ints, Ints]:
        first, last = super()._ended_between(units, before, after)
        newest = self._numbering.open_from(after.newest(units))
        return first, np.minimum(last, newest)


BUG = planted_bug(
    planted("landmark_stops_at_the_newest", ShortShardPart),
    "deterministic",
    shows_in=some_query(landmark),
)
