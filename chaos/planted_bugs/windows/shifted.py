"""Progress that is off by a fixed amount of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from windowing.engine.progress.reached import Progress
from windowing.engine.wids import ENDED, NOTHING_YET, Ints


@dataclass(frozen=True)
class Shifted:
    """A progress that is too high or too low by a fixed amount.

    Attributes:
        progress: the true one.
        by_us: the amount added; "not begun" and "ended" are kept.
    """

    progress: Progress
    by_us: int

    @property
    def highest(self) -> int:
        """The largest shifted progress of any unit."""
        return int(self._shifted(np.array([self.progress.highest]))[0])

    def of(self, units: pl.DataFrame) -> Ints:
        """Return the shifted progress of each row's unit."""
        return self._shifted(self.progress.of(units))

    def furthest(self, units: pl.DataFrame) -> Ints:
        """As it is."""
        return self.progress.furthest(units)

    def newest(self, units: pl.DataFrame) -> Ints:
        """As it is."""
        return self.progress.newest(units)

    def _shifted(self, progress_us: Ints) -> Ints:
        known = (progress_us != ENDED) & (progress_us != NOTHING_YET)
        return np.where(known, np.where(known, progress_us, 0) + self.by_us, progress_us)
