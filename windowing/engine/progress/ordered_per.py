"""Sorted sub-streams, all of them known: the lane is as far as the one that is furthest behind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from windowing.engine.columns import TIME, field_column
from windowing.engine.progress.generator import OwnRecords
from windowing.engine.wids import NOTHING_YET, Ints
from windowing.model.progress.disorder import Member


class OrderedPer(OwnRecords):
    """Remembers the newest time of each member; `NOTHING_YET` where it was not seen.

    Args:
        attr: the field that names a record's sub-stream.
        members: all the lane's sub-streams.
    """

    def __init__(self, attr: str, members: Sequence[Member]) -> None:
        self._attr, self._members = attr, members

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """The smallest of the members' newest times; no bound until all were seen."""
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
