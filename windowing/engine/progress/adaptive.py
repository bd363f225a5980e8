"""Adaptive slack: as much as would have kept the late share of the last records under a target.

The lag of a record is how far it is behind the newest before it. The slack K is the smallest lag
that at most the target share of the last N records exceed; the bound is the record's time less K.
"""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np
import polars as pl

from windowing.engine.columns import TIME
from windowing.engine.progress.generator import OwnRecords
from windowing.engine.wids import Ints
from windowing.model.lengths import INT64_MIN
from windowing.model.progress import disorder


class Adaptive(OwnRecords):
    """Remembers the newest time, and the lags of the last N records, oldest first.

    Args:
        spec: target share and N.
    """

    def __init__(self, spec: disorder.Adaptive) -> None:
        self._late, self._over = spec.late, spec.over_rows

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """The bound after each record."""
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
