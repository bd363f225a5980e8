"""Known sorted sub-streams: the lane's bound is that of the furthest behind."""

from __future__ import annotations

import numpy as np
import polars as pl

from windowing.engine.columns import TIME, field_column
from windowing.engine.progress.generator import OwnRecords, lane_generator
from windowing.engine.wids import NOTHING_YET, Ints
from windowing.model import progress


@lane_generator(progress.OrderedPer.name)
class OrderedPer(OwnRecords):
    """A generator that keeps the newest time of each member; `NOTHING_YET`: not seen yet.

    Args:
        data: the field that names a record's sub-stream, and all sub-streams; if these are unknown,
            progress is per sub-stream, which the clock computes.
        lane: the lane of the sub-streams.
    """

    def __init__(self, data: progress.OrderedPer, lane: str) -> None:
        self._attr = data.attr
        self._members = () if data.members is None else dict(data.members)[lane]

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """Return the smallest of the members' newest times; no bound until all were seen."""
        if not self._members:
            return np.full(len(records), NOTHING_YET, dtype=np.int64)
        if not memory:
            memory[:] = [NOTHING_YET] * len(self._members)
        ts_us, named = records[TIME].to_numpy(), records[field_column(self._attr)]
        behind = np.full(len(records), np.iinfo(np.int64).max)
        for number, member in enumerate(self._members):
            own = (named == member).fill_null(value=False).to_numpy()
            newest = np.maximum.accumulate(np.where(own, ts_us, NOTHING_YET))
            newest = np.maximum(newest, memory[number])
            behind = np.minimum(behind, newest)
            if len(newest):
                memory[number] = int(newest[-1])
        return behind
