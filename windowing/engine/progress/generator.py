"""What every generator of progress is."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import polars as pl

from windowing.engine.wids import NOTHING_YET, Ints


class Generator(Protocol):
    """One lane's promises, a chunk at a time.

    What it must remember from chunk to chunk is a list of integers, which the lane keeps for it.
    """

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """The bound after each record, NOTHING_YET for none; `memory` is brought up to date.

        Args:
            records: the lane's next data records, with `ts_us` and a column for every field.
            memory: what the generator remembers; empty at first.
        """

    def observed(self, instants_us: Ints) -> Ints:
        """The bounds that follow from instants which the true clock had reached by then."""


class OwnRecords:
    """A generator that concludes nothing from clocks and other lanes."""

    def observed(self, instants_us: Ints) -> Ints:
        """No bound."""
        return np.full(len(instants_us), NOTHING_YET, dtype=np.int64)
