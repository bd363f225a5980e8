"""Punctuation: records promise nothing; bounds stand in control records alone."""

from __future__ import annotations

import numpy as np
import polars as pl

from windowing.engine.progress.generator import OwnRecords, lane_generator
from windowing.engine.wids import NOTHING_YET, Ints
from windowing.model import progress


@lane_generator(progress.Punctuation.name)
class Punctuation(OwnRecords):
    """No record gives a bound; what is promised for single keys is the clock's affair.

    Args:
        data: of no matter here.
        lane: of no matter here.
    """

    def __init__(self, data: progress.Punctuation, lane: str) -> None:
        del data, lane

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """No bound after any record."""
        return np.full(len(records), NOTHING_YET, dtype=np.int64)
