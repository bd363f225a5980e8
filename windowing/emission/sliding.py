"""Emission of windows that follow from values: sliding and tumbling over an attribute.

A partial state belongs to the windows `w_first … w_last`. For an on-time one (`release` ON_TIME)
window w asks for revision 0 at the instant `end(w)`. For a late one it asks at the late epoch
`max(release, first epoch boundary after end(w))`: every distinct epoch of a (window, key) is one
revision, numbered from 1, and shows everything up to it. Progress moving from P to P' emits the
rows whose instant lies in (P, P'].
"""

from __future__ import annotations

import numpy as np
import polars as pl

from windowing import wids
from windowing.aggregates import Accumulators
from windowing.assign.assigner import Tables
from windowing.assign.sliding import PARTIALS
from windowing.emission.emitter import Results
from windowing.pack import column
from windowing.progress.reached import Progress
from windowing.spec import Pipeline, Query
from windowing.wids import ENDED, ON_TIME

_LATE = pl.col("release") != ON_TIME


class SlidingEmitter:
    """Makes the rows of one query out of its partial states.

    Args:
        query: with a sliding window.
        pipeline: its pipeline.
    """

    def __init__(self, query: Query, pipeline: Pipeline) -> None:
        self._query, self._window = query, query.window
        self._accumulators = Accumulators.of(query, pipeline.source)
        self._results = Results(query, pipeline)
        self._keys = list(dict.fromkeys(column(name) for name in query.key))
        self._group = [*self._keys, "window_id"]

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """The rows due while progress moves.

        Raises:
            ResultOverflow: a sum of integers leaves 64 bits.
        """
        partials, before_us, after_us = tables[PARTIALS], before.stream_us, after.stream_us
        full = self._full(partials, before_us, after_us)
        parts = [full] if len(full) else []
        if self._query.late.policy == "update":
            late = self._revisions(partials, before_us, after_us)
            parts += [late] if len(late) else []
        if not parts:
            return pl.DataFrame()
        return self._results.of(Accumulators.concat(parts))

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """The next instant at which these partials may ask for a row; never later than it."""
        partials, after_us = tables[PARTIALS], after.stream_us
        ended = wids.ended_by(self._window, after_us)
        open_ = partials.filter(~_LATE, pl.col("w_last") > ended)
        due_us = ENDED
        if len(open_):
            first = max(int(open_["w_first"].min()), ended + 1)  # type: ignore[arg-type]
            due_us = int(wids.end_us(self._window, np.array([first]))[0])
        every_us = self._query.late.every_us
        if every_us is not None:
            last_instant = self._instants(partials.filter(_LATE), pl.col("w_last"))
            waiting = last_instant.filter(pl.col("instant") > after_us)
            if len(waiting):
                # Every late instant is an epoch's boundary: the next one is early enough.
                boundary = int(wids.release_us(np.array([after_us]), every_us)[0])
                due_us = min(due_us, max(boundary, int(waiting["release"].min())))  # type: ignore[arg-type]
        return due_us

    def retained(self, tables: Tables, after: Progress) -> Tables:
        """What some row after this progress can still need, merged where it agrees."""
        partials, after_us, late = tables[PARTIALS], after.stream_us, self._query.late
        if late.policy == "update":
            # Late records of a window come before end + retention and wait one epoch at the most.
            past_us = after_us - (self._query.retention_us or 0) - (late.every_us or 0)
            gone = wids.ended_by(self._window, past_us)
        else:
            gone = wids.ended_by(self._window, after_us)
        kept = partials.filter(pl.col("w_last") > gone).with_columns(
            w_first=pl.max_horizontal("w_first", pl.lit(gone + 1, dtype=pl.Int64))
            if abs(gone) < ENDED
            else pl.col("w_first")
        )
        named = [*self._keys, "w_first", "w_last", "release", "partition"]
        # Sorted, so that equal states have equal bytes.
        return {PARTIALS: self._accumulators.merge(kept, named).sort(named)}

    def _full(self, partials: pl.DataFrame, before_us: int, after_us: int) -> pl.DataFrame:
        """Revision 0 of the windows that end in (before, after]."""
        first, last = self._ended_between(before_us, after_us)
        ending = partials.filter(~_LATE, pl.col("w_first") <= last, pl.col("w_last") >= first)
        if last > first:
            # Slices that enter the same of these windows are merged once, not once per window.
            from_, to = _clipped(first, last)
            named = [*self._keys, "w_first", "w_last", "partition"]
            ending = self._merge(ending.with_columns(w_first=from_, w_last=to), named)
        expanded = _expand(ending, *_clipped(first, last))
        merged = self._merge(expanded, [*self._group, "partition"])
        return merged.with_columns(revision=pl.lit(0, dtype=pl.Int64))

    def _revisions(self, partials: pl.DataFrame, before_us: int, after_us: int) -> pl.DataFrame:
        """Revisions 1, 2, … whose late epoch lies in (before, after]."""
        late = partials.filter(_LATE, pl.col("release") <= after_us)
        if not len(late):
            return late
        late = _expand(late, pl.col("w_first"), pl.col("w_last"))
        late = self._instants(late, pl.col("window_id")).filter(pl.col("instant") <= after_us)
        # Null keys are keys like any other; join and rank must take them so.
        epochs = late.select(*self._group, "instant").unique().sort("instant")
        epochs = epochs.with_columns(
            revision=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(self._group)
        ).filter(pl.col("instant") > before_us)
        if not len(epochs):
            return epochs
        content = [late, self._on_time_of(partials, epochs)]
        held = Accumulators.concat([part for part in content if len(part)])
        due = epochs.rename({"instant": "epoch"})
        shown = due.join(held, on=self._group, how="inner", nulls_equal=True).filter(
            pl.col("instant") <= pl.col("epoch")
        )
        return self._merge(shown, [*self._group, "revision", "partition"])

    def _on_time_of(self, partials: pl.DataFrame, epochs: pl.DataFrame) -> pl.DataFrame:
        """What the windows of these epochs held at revision 0."""
        windows = epochs.select(self._group).unique()
        ids = windows["window_id"].to_numpy()
        first, last = int(ids.min()), int(ids.max())
        on_time = partials.filter(~_LATE, pl.col("w_first") <= last, pl.col("w_last") >= first)
        expanded = _expand(on_time, *_clipped(first, last))
        held = expanded.join(windows, on=self._group, how="semi", nulls_equal=True)
        return held.with_columns(instant=pl.lit(ON_TIME, dtype=pl.Int64))

    def _instants(self, late: pl.DataFrame, window_id: pl.Expr) -> pl.DataFrame:
        """Late partials with the `instant` of the late epoch that releases them to a window."""
        every_us = self._query.late.every_us
        assert every_us is not None  # noqa: S101 - late partials exist under `update` only
        ends = wids.end_us(self._window, late.select(window_id).to_series().to_numpy())
        boundary = wids.release_us(ends, every_us)
        return late.with_columns(instant=pl.max_horizontal("release", pl.Series(boundary)))

    def _ended_between(self, before_us: int, after_us: int) -> tuple[int, int]:
        """First and last window that end in (before, after], within 64 bits."""
        first = max(wids.ended_by(self._window, before_us) + 1, -ENDED)
        last = ENDED if after_us == ENDED else wids.ended_by(self._window, after_us)
        return first, min(last, ENDED)

    def _merge(self, partials: pl.DataFrame, by: list[str]) -> pl.DataFrame:
        dropped = {"w_first", "w_last", "release", "instant", "epoch", *by} - set(by)
        return self._accumulators.merge(partials, by, among=sorted(dropped))


def _clipped(first: int, last: int) -> tuple[pl.Expr, pl.Expr]:
    """The windows of a partial state that lie within `first` to `last`."""
    return pl.max_horizontal("w_first", first), pl.min_horizontal("w_last", last)


def _expand(partials: pl.DataFrame, first: pl.Expr, last: pl.Expr) -> pl.DataFrame:
    """One row for each partial and each window from `first` to `last`."""
    spread = partials.with_columns(window_id=pl.int_ranges(first, last + 1, dtype=pl.Int64))
    return spread.explode("window_id")
