"""Slack in rows: the bound is the output of a sorting buffer of n rows, the (n+1)-th largest time.

Source: Aurora's BSort, as Li et al., SIGMOD 2005, use it.
"""

from __future__ import annotations

import heapq

import numpy as np
import polars as pl

from windowing.engine.columns import TIME
from windowing.engine.progress.generator import OwnRecords, lane_generator
from windowing.engine.wids import NOTHING_YET, Ints
from windowing.model import progress


@lane_generator(progress.SlackRows.name)
class SlackRows(OwnRecords):
    """A generator that keeps the n largest times, as a heap.

    Args:
        data: n.
        lane: the lane; all lanes have the same n.
    """

    def __init__(self, data: progress.SlackRows, lane: str) -> None:
        del lane
        self._rows = data.rows

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """Return the bound after each record: the time that it pushes out of the full heap."""
        times = records[TIME].to_list()
        filling = max(self._rows - len(memory), 0)
        for ts_us in times[:filling]:
            heapq.heappush(memory, ts_us)
        let_go = [heapq.heappushpop(memory, ts_us) for ts_us in times[filling:]]
        bounds = [NOTHING_YET] * (len(times) - len(let_go)) + let_go
        return np.array(bounds, dtype=np.int64)
