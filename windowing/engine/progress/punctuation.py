"""Punctuation: records promise nothing; bounds stand in control records alone."""

from __future__ import annotations

import numpy as np
import polars as pl

from windowing.engine.progress.generator import OwnRecords
from windowing.engine.wids import NOTHING_YET, Ints


class Punctuation(OwnRecords):
    """No record gives a bound."""

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """No bound after any record."""
        return np.full(len(records), NOTHING_YET, dtype=np.int64)
