"""Punctuation: bounds come from control records, not from data records."""

from __future__ import annotations

import numpy as np
import polars as pl

from windowing.engine.progress.generator import OwnRecords, lane_generator
from windowing.engine.wids import NOTHING_YET, Ints
from windowing.model import progress


@lane_generator(progress.Punctuation.name, memoryless=True)
class Punctuation(OwnRecords):
    """A generator without bounds; the clock handles bounds of control records, also per key.

    Args:
        data: unused.
        lane: unused.
    """

    def __init__(self, data: progress.Punctuation, lane: str) -> None:
        del data, lane

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """Return no bounds."""
        return np.full(len(records), NOTHING_YET, dtype=np.int64)
