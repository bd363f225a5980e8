"""Slack in rows: the bound is what a sorting buffer of n rows lets go, the (n+1)-th largest time.

Source: Aurora's BSort, as Li et al., SIGMOD 2005, use it.
"""

from __future__ import annotations

import heapq

import numpy as np
import polars as pl

from windowing.engine.columns import TIME
from windowing.engine.progress.generator import OwnRecords
from windowing.engine.wids import NOTHING_YET, Ints


class SlackRows(OwnRecords):
    """Remembers the n largest times, as a heap.

    Args:
        rows: n.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """The bound after each record: what the full heap lets go for it."""
        times = records[TIME].to_list()
        filling = max(self._rows - len(memory), 0)
        for ts_us in times[:filling]:
            heapq.heappush(memory, ts_us)
        let_go = [heapq.heappushpop(memory, ts_us) for ts_us in times[filling:]]
        bounds = [NOTHING_YET] * (len(times) - len(let_go)) + let_go
        return np.array(bounds, dtype=np.int64)
