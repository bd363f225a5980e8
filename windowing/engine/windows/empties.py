"""Rows of windows without records: which windows of a key are sent although nothing is in them.

A window with records on time calls for the windows behind it, up to a number. Of these, those that
no record on time is in are empty. So they follow from the spans of the partial states on time: they
lie in the gaps between spans of a key, at most so far into each. No state is kept for them besides
the last span before what is still to come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import polars as pl

from windowing.engine.columns import FIRST_WINDOW, LAST_WINDOW, WINDOW_ID
from windowing.engine.progress.reached import Progress, per_row
from windowing.engine.wids import ENDED, Ints, Numbering
from windowing.engine.windows.active import ActiveWindows
from windowing.model import Query
from windowing.model.lengths import INT64_MAX

_CALLED, _ROW = "called", "row"


class EmptyWindows:
    """The windows of one query that are sent without records on time.

    Args:
        keys: the columns of a row's key.
        active: which windows there are; None: all.
    """

    def __init__(
        self,
        query: Query,
        numbering: Numbering,
        keys: Sequence[str],
        active: ActiveWindows | None,
    ) -> None:
        self._after, self._numbering, self._keys = query.empty_after, numbering, list(keys)
        self._last = INT64_MAX if active is None else active.last

    @classmethod
    def of(
        cls,
        query: Query,
        numbering: Numbering,
        keys: Sequence[str],
        active: ActiveWindows | None,
    ) -> Self | None:
        """Return those of a query; None: it sends windows with records only."""
        return cls(query, numbering, keys, active) if query.empty_after else None

    def called_by(self, on_time: pl.DataFrame) -> Ints:
        """Return the last window that each partial state on time calls for."""
        last = on_time[LAST_WINDOW].to_numpy()
        return np.minimum(self._numbering.after(last, self._after), self._last)

    def between(self, on_time: pl.DataFrame, first: Ints, last: Ints) -> pl.DataFrame:
        """Return the gaps of each key that are sent, as `w_first` and `w_last`.

        Args:
            on_time: the partial states of records on time.
            first, last: the windows that are asked for, by the unit of each partial state.
        """
        spans = on_time.select(
            *self._keys,
            FIRST_WINDOW,
            LAST_WINDOW,
            pl.Series(_CALLED, self.called_by(on_time)),
            from_=per_row(first),
            to=per_row(last),
        ).sort(FIRST_WINDOW)
        # A span within another one calls for no more than that.
        gaps = spans.select(
            *self._keys,
            pl.max_horizontal(
                self._of_key(pl.col(LAST_WINDOW).cum_max()).clip(upper_bound=ENDED - 1) + 1, "from_"
            ).alias(FIRST_WINDOW),
            pl.min_horizontal(
                self._of_key(pl.col(_CALLED).cum_max()),
                self._of_key(pl.col(FIRST_WINDOW).shift(-1)).fill_null(ENDED) - 1,
                "to",
            ).alias(LAST_WINDOW),
        )
        return gaps.filter(pl.col(FIRST_WINDOW) <= pl.col(LAST_WINDOW))

    def among(self, windows: pl.DataFrame) -> pl.DataFrame:
        """Return those of the numbers in gaps that windows with an end have."""
        ids = windows[WINDOW_ID].to_numpy()
        there = self._numbering.exist(ids) & (self._numbering.ends(ids) < ENDED)
        return windows.filter(pl.Series(there))

    def reached(self, units: pl.DataFrame, after: Progress, last: Ints) -> Ints:
        """Return the last window that is sent without records, where all up to `last` have ended.

        Once all lanes have ended, it is that of landmark windows: the last that any lane's finite
        progress had reached, or the first one of the newest record.
        """
        ended = self._numbering.ended_by(after.furthest(units))
        newest = self._numbering.open_from(after.newest(units))
        return np.minimum(last, np.maximum(ended, newest))

    def sent(self, on_time: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
        """Return those of some ended windows that were sent without records.

        Args:
            on_time: the partial states of records on time.
            windows: the key's columns and `window_id`, each once.
        """
        spans = on_time.select(
            *self._keys, FIRST_WINDOW, LAST_WINDOW, pl.Series(_CALLED, self.called_by(on_time))
        )
        numbered = windows.with_row_index(_ROW)
        if self._keys:
            pairs = numbered.join(spans, on=self._keys, nulls_equal=True)
        else:
            pairs = numbered.join(spans, how="cross")
        wid = pl.col(WINDOW_ID)
        of_window = pairs.group_by(_ROW).agg(
            held=((pl.col(FIRST_WINDOW) <= wid) & (wid <= pl.col(LAST_WINDOW))).any(),
            called=((pl.col(LAST_WINDOW) < wid) & (wid <= pl.col(_CALLED))).any(),
        )
        rows = of_window.filter(pl.col("called") & ~pl.col("held"))[_ROW]
        return self.among(windows[rows.sort()])

    def callers(self, on_time: pl.DataFrame, gone: Ints) -> pl.DataFrame:
        """Return of each key the partial states that still call for windows, and are in none.

        Of several that call, those of the last window call for all that the others do.

        Args:
            gone: the last window of each state's unit that can have no more rows.
        """
        past = on_time.with_columns(
            pl.Series(_CALLED, self.called_by(on_time)), gone=per_row(gone)
        ).filter(pl.col(LAST_WINDOW) <= pl.col("gone"), pl.col(_CALLED) > pl.col("gone"))
        last = past.filter(pl.col(LAST_WINDOW) == self._of_key(pl.col(LAST_WINDOW).max()))
        return last.with_columns(pl.col(LAST_WINDOW).alias(FIRST_WINDOW)).drop(_CALLED, "gone")

    def _of_key(self, of_all: pl.Expr) -> pl.Expr:
        return of_all.over(self._keys) if self._keys else of_all
