"""Windows that records define: slide-by-tuple, by n tuples, by n in rank order.

A record counts at all positions w with a <= w < a + R: an interval of possible windows, known on
arrival. Another table, the definers, decides which of them exist. A late record counts from its
lane's progress on, as it may not enter windows that were closed there.

A window w is the position of a definer; it closes at w + 1, and holds the partial states whose
interval of positions contains it. It is shown with revision 0 if a definer was on time; if all were
late, at the earliest late epoch of any. Rows exist only for windows, and only for keys in the
window.

By rank, a window is where the count of records in canonical order passes a multiple of n. Only
counts of positions that progress has passed are final; those before it fold into one number.

Source: Li et al., SIGMOD 2005, sections 4.4 (bins, of which some are windows) to 4.6; late definers
are ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from windowing.engine.columns import (
    AFTER,
    FIRST_WINDOW,
    INSTANT,
    LAST_WINDOW,
    RELEASE,
    WINDOW_ID,
)
from windowing.engine.progress.reached import Progress, per_row, stamped
from windowing.engine.wids import ON_TIME, Flags
from windowing.engine.windows.intervals import indexed
from windowing.engine.windows.part import Scan, Tables, unit_columns
from windowing.engine.windows.sliding import LATE, SlidingShardPart, first_revision, in_time
from windowing.engine.windows.sliding_lane import PARTIALS, SlidingLanePart, Span
from windowing.model import Pipeline, Query
from windowing.model.lengths import INT64_MIN
from windowing.model.windows.traits import Order

DEFINERS = "definers"
_ON_TIME_WINDOW = pl.col("appears") == ON_TIME


class AtRecordsLanePart(SlidingLanePart):
    """The positions at which records count, and those at which they define windows.

    Definers have the unit's column, `w_first` (the position), `release` (the epoch at which the
    window appears, or ON_TIME) and `count`: how many records define it or, by rank, may do so.
    """

    def __init__(self, query: Query, pipeline: Pipeline) -> None:
        super().__init__(query, pipeline)
        self._unit = unit_columns(query)

    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        parts = []
        for span in spans:
            # A record whose span begins after it is late for the window at its position.
            chosen = span.chosen & (span.first == scan.values) & self._definers(scan)
            parts.append(
                pl.DataFrame(
                    [
                        *(scan.data[name].filter(pl.Series(chosen)) for name in self._unit),
                        pl.Series(FIRST_WINDOW, span.first[chosen]),
                        pl.Series(RELEASE, span.release[chosen]),
                    ]
                )
            )
        named = [*self._unit, FIRST_WINDOW, RELEASE]
        counts = pl.concat(parts).group_by(named).agg(count=pl.len().cast(pl.Int64))
        return {**super()._tables(scan, spans), DEFINERS: counts}

    def _definers(self, scan: Scan) -> Flags:
        if self._query.window.traits.counts_arrivals:
            assert scan.numbers is not None  # noqa: S101 - its lane has a row clock for it
            defines: Flags = (scan.numbers + 1) % self._query.window.slide == 0
            return defines
        return np.ones(len(scan.values), dtype=bool)


class AtRecordsShardPart(SlidingShardPart):
    """The rows of one query with windows that records define."""

    def __init__(self, query: Query, pipeline: Pipeline) -> None:
        super().__init__(query, pipeline)
        self._unit = unit_columns(query)
        self._ranked = query.window.traits.order is Order.CANONICAL

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return a lower bound of the next progress at which a row is due."""
        positions = tables[DEFINERS].with_columns(pl.col(FIRST_WINDOW).alias(LAST_WINDOW))
        due_us = self._next_end_us(in_time(positions), after)
        late = stamped(positions.filter(LATE), after=after)
        late_us = self._next_boundary_us(late.filter(pl.col(RELEASE) > pl.col(AFTER)))
        return min(due_us, late_us, super().next_due_us({PARTIALS: self._shown(tables)}, after))

    def retained(self, tables: Tables, after: Progress) -> Tables:
        """Return what rows after this progress can still need, merged where equal."""
        gone = per_row(self._gone(tables[DEFINERS], after))
        definers, passed = tables[DEFINERS], pl.col(FIRST_WINDOW) <= gone
        if self._ranked:
            folded = pl.when(passed).then(pl.lit(INT64_MIN, dtype=pl.Int64))
            definers = definers.with_columns(
                folded.otherwise(pl.col(FIRST_WINDOW)).alias(FIRST_WINDOW)
            )
        else:
            definers = definers.filter(~passed)
        named = [*self._unit, FIRST_WINDOW, RELEASE]
        kept = definers.group_by(named).agg(pl.col("count").sum()).sort(named)
        return {**super().retained(tables, after), DEFINERS: kept}

    def _windows(self, tables: Tables) -> pl.DataFrame:
        """Return the windows known so far: unit, `window_id`, and `appears`, sorted.

        `appears` is ON_TIME, or the late epoch at which the window appears. By rank, positions that
        progress has not passed are preliminary.
        """
        named = [*self._unit, FIRST_WINDOW]
        merged = (
            tables[DEFINERS]
            .group_by(named)
            .agg(pl.col(RELEASE).min().alias("appears"), pl.col("count").sum())
        )
        windows = merged.sort(named).rename({FIRST_WINDOW: WINDOW_ID})
        if self._ranked:
            counted = pl.col("count").cum_sum()
            counted = counted.over(self._unit) if self._unit else counted
            slide = self._query.window.slide
            windows = windows.filter(counted // slide > (counted - pl.col("count")) // slide)
        return windows.drop("count")

    def _first_rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        return self._rows_of(self._full(tables, before, after))

    def _full(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        windows = self._windows(tables).filter(_ON_TIME_WINDOW)
        first, last = self._ended_between(windows, before, after)
        position = pl.col(WINDOW_ID)
        due = windows.filter(position >= per_row(first), position <= per_row(last))
        held = self._content(self._on_time(tables), due, self._unit)
        return first_revision(held)

    def _pairs(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        windows = self._windows(tables)
        late = stamped(tables[PARTIALS].filter(LATE), before=before, after=after)
        late, first, last = indexed(late, windows, self._unit)
        row = pl.int_ranges(pl.Series(first), pl.Series(last) + 1, dtype=pl.Int64)
        pairs = late.with_columns(row=row).explode("row")
        places = windows[pairs["row"].to_numpy()]
        pairs = pairs.drop("row").with_columns(places[WINDOW_ID])
        shown = np.maximum(self._boundary(pairs, WINDOW_ID).to_numpy(), places["appears"])
        pairs = pairs.with_columns(pl.Series(shown).alias(INSTANT))
        appearing = self._appearing(tables, windows.filter(~_ON_TIME_WINDOW), before, after)
        both = self._accumulators.concat([pairs, appearing])
        return both.filter(pl.col(INSTANT) <= pl.col(AFTER))

    def _appearing(
        self, tables: Tables, windows: pl.DataFrame, before: Progress, after: Progress
    ) -> pl.DataFrame:
        """Return the on-time content of windows that appear late, at their epoch."""
        held = self._content(self._on_time(tables), windows, self._unit)
        named = [*self._unit, WINDOW_ID]
        placed = held.join(windows, on=named, nulls_equal=True).rename({"appears": INSTANT})
        return stamped(placed, before=before, after=after)

    def _on_time_at(self, tables: Tables, windows: pl.DataFrame) -> pl.DataFrame:
        named = [*self._unit, WINDOW_ID]
        on_time = self._windows(tables).filter(_ON_TIME_WINDOW)
        return super()._on_time_at(
            tables, windows.join(on_time, on=named, how="semi", nulls_equal=True)
        )

    def _on_time(self, tables: Tables) -> pl.DataFrame:
        return in_time(tables[PARTIALS]).drop(RELEASE)

    def _shown(self, tables: Tables) -> pl.DataFrame:
        """Return the partials that make rows due by themselves: on-time ones wait for a window."""
        return tables[PARTIALS].filter(LATE)
