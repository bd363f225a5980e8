"""Emission of landmark windows: all begin at the origin, and each contains the previous one.

Windows without new records are due, too; so all windows from a key's first one on are listed, and
their content is computed at once. State before the progress folds into one partial state per key
and lane. The last window at the end of the log is the last that any lane's finite progress had
reached, or the first one of the newest record.

Source: Li et al., SIGMOD 2005, section 4.2; the last window is ours.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from windowing.engine.columns import FIRST_WINDOW, LAST_WINDOW, RELEASE, REVISION
from windowing.engine.progress.reached import AllEnded, Progress
from windowing.engine.wids import Ints
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding import SlidingShardPart


class LandmarkShardPart(SlidingShardPart):
    """The rows of one query with a landmark window."""

    def open(self, tables: Tables, after: Progress) -> pl.DataFrame:
        """Return the content of open windows, up to the first window of the newest record."""
        return self._results.of(self._full(tables, after, AllEnded(after)))

    def _ended_between(
        self, units: pl.DataFrame, before: Progress, after: Progress
    ) -> tuple[Ints, Ints]:
        first, last = super()._ended_between(units, before, after)
        ended = self._numbering.ended_by(after.furthest(units))
        newest = self._numbering.open_from(after.newest(units))
        return first, np.minimum(last, np.maximum(ended, newest))

    def _first_rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        return self._rows_of(self._full(tables, before, after))

    def _full(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the content of the windows that end while progress moves."""
        due = self._due(tables, before, after)
        # All intervals of a key end at the same window, as do all its windows.
        spans = due.group_by(self._keys) if self._keys else due.group_by(pl.lit(0).alias("all"))
        listed = spans.agg(pl.col(FIRST_WINDOW).min(), pl.col(LAST_WINDOW).max())
        windows = self._expanded(listed).select(self._group).sort(self._group)
        held = self._content(due.drop(RELEASE), windows, self._keys)
        return held.with_columns(pl.lit(0, dtype=pl.Int64).alias(REVISION))
