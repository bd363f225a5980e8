"""Adaptive slack: the one that would have kept the late share of recent records under a target.

The lag of a record is its distance behind the newest record before it. The slack K is the smallest
lag that at most the target share of the last N records exceed; the bound is the record's time minus
K.
"""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np
import polars as pl

from windowing.engine.columns import TIME
from windowing.engine.progress.generator import OwnRecords, lane_generator
from windowing.engine.wids import Ints
from windowing.model import progress
from windowing.model.lengths import INT64_MIN


@lane_generator(progress.Adaptive.name)
class Adaptive(OwnRecords):
    """A generator that keeps the newest time and the lags of the last N records, oldest first.

    Args:
        data: target share and N.
        lane: the lane; all lanes have the same target.
    """

    def __init__(self, data: progress.Adaptive, lane: str) -> None:
        del lane
        self._late, self._over = data.late, data.over_rows

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """Return the bound after each record."""
        times = records[TIME].to_list()
        if not times:
            return np.empty(0, dtype=np.int64)
        newest, lags = (memory[0], memory[1:]) if memory else (times[0], [])
        ranked = sorted(lags)
        bounds = np.empty(len(times), dtype=np.int64)
        for number, ts_us in enumerate(times):
            newest = max(newest, ts_us)
            lags.append(newest - ts_us)
            insort(ranked, lags[-1])
            if len(ranked) > self._over:
                del ranked[bisect_left(ranked, lags[-self._over - 1])]
            exceeding = self._late.numerator * len(ranked) // self._late.denominator
            bounds[number] = max(ts_us - ranked[-1 - exceeding], INT64_MIN)
        memory[:] = [newest, *lags[-self._over :]]
        return bounds
