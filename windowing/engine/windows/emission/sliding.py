"""Emission of windows that follow from values: sliding and tumbling over an attribute or over rows.

A partial state belongs to the windows `w_first … w_last`. For an on-time one (`release` ON_TIME)
window w asks for revision 0 at the instant `end(w)`. For a late one it asks at the late epoch
`max(release, first epoch boundary after end(w))`: every distinct epoch of a (window, key) is one
revision, numbered from 1, and shows everything up to it. Progress moving from P to P' emits the
rows whose instant lies in (P, P']; where units have a progress of their own, so does every row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from windowing.engine import wids
from windowing.engine.aggregates import Accumulators
from windowing.engine.progress.reached import Progress
from windowing.engine.wids import ENDED, ON_TIME, Ints
from windowing.engine.windows.assign.assigner import key_columns
from windowing.engine.windows.assign.sliding import PARTIALS
from windowing.engine.windows.emission.emitter import Results
from windowing.engine.windows.emission.intervals import content
from windowing.engine.windows.evaluation import past_end
from windowing.engine.windows.part import Tables
from windowing.model import Pipeline, Query
from windowing.model.rules import WINDOWS_MAX
from windowing.model.run_errors import TooManyWindows

LATE = pl.col("release") != ON_TIME
RETRACTS = "retracts"
# Before all instants, that of records on time too, which is the smallest number there is.
_EVER = pl.lit(None, dtype=pl.Int64)
# Columns that say where a partial state counts, and are no part of it.
_PLACE = ("w_first", "w_last", "release", "instant", "epoch", "before", "after")


class SlidingEmitter:
    """Makes the rows of one query out of its partial states.

    Args:
        query: with a sliding window.
        pipeline: its pipeline.
    """

    def __init__(self, query: Query, pipeline: Pipeline) -> None:
        self._query, self._grid = query, wids.grid(query.window)
        self._accumulators = Accumulators.of(query, pipeline.source)
        self._results = Results(query, pipeline)
        self._keys = key_columns(query)
        self._group = [*self._keys, "window_id"]

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """The rows due while progress moves.

        Raises:
            ResultOverflow: a sum of integers leaves 64 bits.
        """
        parts = [self._full(tables, before, after)]
        if self._query.late.policy == "update":
            parts.append(self._revisions(tables, before, after))
        parts = [part for part in parts if len(part)]
        if not parts:
            return pl.DataFrame()
        joined = Accumulators.concat(parts)
        if self._query.accumulation != "retracting":
            return self._results.of(joined)
        # Also where nothing is taken back: frames of all shards are put together.
        taken_back = pl.col(RETRACTS) if RETRACTS in joined.columns else pl.lit(value=False)
        marked = joined.with_columns(taken_back.fill_null(value=False).alias(RETRACTS))
        return self._results.of(marked, RETRACTS)

    def open(self, tables: Tables, after: Progress) -> pl.DataFrame:
        """What open windows hold of records on time, as rows whose revision says nothing."""
        on_time = tables[PARTIALS].filter(~LATE)
        ended = np.minimum(wids.ended_by(self._grid, after.of(on_time)), ENDED - 1)
        first = pl.max_horizontal("w_first", column(ended + 1))
        still = on_time.with_columns(w_first=first).filter(pl.col("w_first") <= pl.col("w_last"))
        parts = self._merge(self._expanded(still), [*self._group, "partition"])
        return self._results.of(parts.with_columns(revision=pl.lit(0, dtype=pl.Int64)))

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """The next progress at which these partials may ask for a row; never later than it."""
        partials = tables[PARTIALS]
        due_us = self._next_end_us(partials.filter(~LATE), after)
        every_us = self._query.late.every_us
        if every_us is not None:
            late = stamped(partials.filter(LATE), after=after)
            waiting = late.filter(pl.col("after") < self._boundary(late, "w_last"))
            due_us = min(due_us, self._next_boundary_us(waiting))
        return due_us

    def retained(self, tables: Tables, after: Progress) -> Tables:
        """What some row after this progress can still need, merged where it agrees."""
        partials = tables[PARTIALS]
        first_kept = pl.col("w_first").clip(column(self._gone(partials, after) + 1))
        kept = partials.with_columns(w_first=first_kept).filter(
            pl.col("w_first") <= pl.col("w_last")
        )
        named = [*self._keys, "w_first", "w_last", "release", "partition"]
        return {PARTIALS: self._accumulators.merge(kept, named).sort(named)}

    def _gone(self, units: pl.DataFrame, after: Progress) -> Ints:
        """The last window of each row's unit that no row can be of any more."""
        past_us = wids.lowered(after.of(units), min(past_end(self._query), ENDED))
        return np.minimum(wids.ended_by(self._grid, past_us), ENDED - 1)

    def _ended_between(
        self, units: pl.DataFrame, before: Progress, after: Progress
    ) -> tuple[Ints, Ints]:
        """First and last window of each row's unit that end while progress moves."""
        first = np.minimum(wids.ended_by(self._grid, before.of(units)), ENDED - 1) + 1
        return first, wids.ended_by(self._grid, after.of(units))

    def _due(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """The partials on time of windows that end while progress moves, clipped to those."""
        on_time = tables[PARTIALS].filter(~LATE)
        first, last = self._ended_between(on_time, before, after)
        clipped = on_time.with_columns(
            w_first=pl.max_horizontal("w_first", column(first)),
            w_last=pl.min_horizontal("w_last", column(last)),
        )
        return clipped.filter(pl.col("w_first") <= pl.col("w_last"))

    def _full(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Revision 0 of the windows that end while progress moves."""
        due = self._due(tables, before, after)
        if (due["w_last"] > due["w_first"]).any():
            # Slices that enter the same of these windows are merged once, not once per window.
            due = self._merge(due, [*self._keys, "w_first", "w_last", "partition"])
        merged = self._merge(self._expanded(due), [*self._group, "partition"])
        return merged.with_columns(revision=pl.lit(0, dtype=pl.Int64))

    def _revisions(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Revisions 1, 2, … whose late epoch lies in (before, after]."""
        late = self._pairs(tables, before, after)
        # Null keys are keys like any other; join and rank must take them so.
        epochs = late.select(*self._group, "instant", "before").unique().sort("instant")
        epochs = epochs.with_columns(
            revision=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(self._group),
            previous=pl.col("instant").shift(1).over(self._group).fill_null(ON_TIME),
        ).filter(pl.col("instant") > pl.col("before"))
        if not len(epochs):
            return epochs
        on_time = self._on_time_at(tables, epochs.select(self._group).unique())
        shown_before = on_time.with_columns(instant=pl.lit(ON_TIME, dtype=pl.Int64))
        held = Accumulators.concat([part for part in (late, shown_before) if len(part)])
        due, named = self._sent(epochs), [*self._group, "revision", RETRACTS, "partition"]
        shown = due.join(held, on=self._group, how="inner", nulls_equal=True)
        new = pl.col("previous").is_null() | (pl.col("instant") > pl.col("previous"))
        shown = shown.filter((pl.col("instant") <= pl.col("epoch")) & new).drop("previous")
        return self._merge(shown, [name for name in named if name in shown.columns])

    def _sent(self, epochs: pl.DataFrame) -> pl.DataFrame:
        """The rows that epochs send; each shows what has its instant in (`previous`, `epoch`]."""
        due = epochs.drop("before").rename({"instant": "epoch"})
        match self._query.accumulation:
            case "discarding":
                return due
            case "accumulating":
                return due.with_columns(previous=_EVER)
        taken_back = due.with_columns(
            epoch=pl.col("previous"),
            revision=pl.col("revision") - 1,
            previous=_EVER,
            retracts=pl.lit(value=True),
        )
        again = due.with_columns(previous=_EVER, retracts=pl.lit(value=False))
        return pl.concat([taken_back, again])

    def _pairs(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Late partials and their windows, with the `instant` at which they are shown there."""
        late = stamped(tables[PARTIALS].filter(LATE), before=before, after=after)
        pairs = self._expanded(late.filter(pl.col("release") <= pl.col("after")))
        pairs = pairs.with_columns(instant=self._boundary(pairs, "window_id"))
        return pairs.filter(pl.col("instant") <= pl.col("after"))

    def _on_time_at(self, tables: Tables, windows: pl.DataFrame) -> pl.DataFrame:
        """What windows, each of a key, held at revision 0."""
        on_time = tables[PARTIALS].filter(~LATE).drop("release")
        return self._content(on_time, windows.sort(self._group), self._keys)

    def _boundary(self, late: pl.DataFrame, window_id: str) -> pl.Series:
        """The late epoch at which each late partial is released to a window."""
        every_us = self._query.late.every_us
        assert every_us is not None  # noqa: S101 - late partials exist under `update` only
        ends = wids.end_us(self._grid, late[window_id].to_numpy())
        releases = np.maximum(wids.release_us(ends, every_us), late["release"].to_numpy())
        return pl.Series("instant", releases)

    def _next_end_us(self, on_time: pl.DataFrame, after: Progress) -> int:
        """The earliest end of a window that is open and holds any of these."""
        ended = np.minimum(wids.ended_by(self._grid, after.of(on_time)), ENDED - 1)
        open_ = on_time["w_last"].to_numpy() > ended
        first = np.maximum(on_time["w_first"].to_numpy(), ended + 1)[open_]
        return int(wids.end_us(self._grid, first).min(initial=ENDED))

    def _next_boundary_us(self, waiting: pl.DataFrame) -> int:
        """An instant no later than any at which these late ones, not shown yet, ask for a row."""
        every_us = self._query.late.every_us
        if every_us is None or not len(waiting):
            return ENDED
        # Every late instant is an epoch's boundary: the next one is early enough.
        next_us = wids.release_us(waiting["after"].to_numpy(), every_us)
        return int(np.maximum(next_us, waiting["release"].to_numpy()).min())

    def _content(
        self, partials: pl.DataFrame, windows: pl.DataFrame, unit: Sequence[str]
    ) -> pl.DataFrame:
        """What windows hold of some partials, for each key and lane apart."""
        return content(self._accumulators, partials, windows, unit, [*self._keys, "partition"])

    def _expanded(self, partials: pl.DataFrame) -> pl.DataFrame:
        """One row for each partial and each of its windows.

        Raises:
            TooManyWindows: there are more than fit any machine.
        """
        last, first = (partials[name].cast(pl.Float64) for name in ("w_last", "w_first"))
        many = int((last - first + 1).sum())
        if many > WINDOWS_MAX:
            msg = (
                f"query {self._query.name}: {many:,} windows are due at once, more than "
                f"{WINDOWS_MAX:,}: if a record's time leaps ahead, give event_time a max or a "
                "max_ahead, which make it a dead letter; else choose a longer slide"
            )
            raise TooManyWindows(msg)
        ids = pl.int_ranges("w_first", pl.col("w_last") + 1, dtype=pl.Int64)
        return partials.with_columns(window_id=ids).explode("window_id")

    def _merge(self, partials: pl.DataFrame, by: list[str]) -> pl.DataFrame:
        among = sorted({*_PLACE} & {*partials.columns} - {*by})
        return self._accumulators.merge(partials, by, among=among)


def column(values: Ints) -> pl.Expr | pl.Series:
    """Numbers, one per row or one for all rows, as a column to compute with."""
    return pl.lit(int(values[0]), dtype=pl.Int64) if len(values) == 1 else pl.Series(values)


def stamped(frame: pl.DataFrame, **progress: Progress) -> pl.DataFrame:
    """A frame with the progress of each row's unit, in columns of these names."""
    return frame.with_columns(**{name: column(p.of(frame)) for name, p in progress.items()})
