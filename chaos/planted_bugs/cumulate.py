"""Defects of windows that cumulate over a period, and begin anew with the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import cumulate, some_query, updates
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.columns import FIRST_WINDOW, LAST_WINDOW, WINDOW_ID
from windowing.engine.progress.reached import Progress, per_row
from windowing.engine.wids import Flags, Ints
from windowing.engine.windows.cumulate import (
    CumulateShardPart,
    CumulatingCalendar,
    CumulatingGrid,
    Periodic,
    numbering_of,
)
from windowing.engine.windows.part import Tables
from windowing.engine.windows.sliding_lane import PARTIALS, Frontier, SlidingLanePart, Span
from windowing.model.calendar import DAY_US
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.windows.cumulate import Cumulate

_WISH = Wish(classes=("cumulate",), number=False)


def of_some_steps(_: Pipeline, query: Query) -> bool:
    return query.window.range_ is not None and query.window.range_ > query.window.slide


planted_in_periods = partial(planted, shows_in=some_query(cumulate, of_some_steps), wish=_WISH)


# Records that stay for a whole range, and so in windows of the next period. How one gets it: the
# last window is computed as for sliding windows.
@planted_in_periods("cumulate_in_the_next_period", "deterministic")
class SlidingGrid(CumulatingGrid):
    def _last_of(self, slides: Ints) -> Ints:
        return slides + self.steps - 1


# A period without its last window. How one gets it: K - 1 steps fit between K edges.
@planted_in_periods("cumulate_without_the_last_window", "deterministic")
class ShortGrid(CumulatingGrid):
    def _last_of(self, slides: Ints) -> Ints:
        return np.maximum(slides, super()._last_of(slides) - 1)


# Periods that are counted from zero, whatever the origin. How one gets it: a number divided by the
# steps of a period, after the origin was taken off only once.
@planted_in_periods("cumulate_periods_from_zero", "deterministic")
class UnshiftedGrid(CumulatingGrid):
    def _last_of(self, slides: Ints) -> Ints:
        shift = self.origin // self.slide
        return super()._last_of(slides + shift) - shift


# Rows whose windows seem to begin one range before their end. How one gets it: the bounds of a
# sliding window.
@planted_in_periods(
    "cumulate_begins_a_range_before",
    "deterministic",
    at="windowing.engine.windows.cumulate:CumulatingGrid.bounds",
)
def sliding_bounds(grid: CumulatingGrid, wid: int) -> tuple[int, int]:
    end = grid.origin + (wid + 1) * grid.slide
    return end - (grid.range_ or 0), end


# Compaction that drops what lies behind progress. How one gets it: slices are purged once their own
# window has closed, although later ones hold them.
@planted_in_periods("cumulate_sum_lost", "deterministic")
class PurgingShardPart(CumulateShardPart):
    def retained(self, tables: Tables, after: Progress) -> Tables:
        partials = tables[PARTIALS]
        behind = pl.col(FIRST_WINDOW) > per_row(self._gone(partials, after))
        return super().retained({PARTIALS: partials.filter(behind)}, after)


# Windows that have a row only if their own slice has records. How one gets it: "empty windows give
# no row", applied to slices.
@planted_in_periods("cumulate_silent_without_news", "deterministic")
class SparseShardPart(CumulateShardPart):
    def _first_rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        rows = super()._first_rows(tables, before, after)
        entered = tables[PARTIALS][FIRST_WINDOW].unique().implode()
        return rows.filter(pl.col(WINDOW_ID).is_in(entered)) if len(rows) else rows


# A sum that is carried over into the next period. How one gets it: one running sum per key, which
# compaction keeps for whatever is open.
@planted_in_periods("cumulate_sum_carried_over", "deterministic")
class CarryingShardPart(CumulateShardPart):
    def retained(self, tables: Tables, after: Progress) -> Tables:
        kept = super().retained(tables, after)[PARTIALS]
        last = pl.col(LAST_WINDOW).max()
        newest = last.over(self._keys) if self._keys else last
        return super().retained({PARTIALS: kept.with_columns(newest.alias(LAST_WINDOW))}, after)


# Late records that revise the window of their slice alone. How one gets it: a record revises "its
# window", as with tumbling ones.
@planted_in_periods(
    "cumulate_late_in_one_window",
    "deterministic",
    shows_in=some_query(cumulate, of_some_steps, updates),
)
class TumblingLanePart(SlidingLanePart):
    def _split(self, inside: Flags, first: Ints, last: Ints, opened: Frontier) -> list[Span]:
        on_time, *late = super()._split(inside, first, last, opened)
        alone = [Span(one.chosen, one.first, one.first, one.release) for one in late]
        return [on_time, *alone]


# Windows that are listed from the newest slice on, and not from the oldest. How one gets it: the
# run of windows that a key needs is taken from one of its slices.
@planted_in_periods(
    "cumulate_from_the_newest_slice", "deterministic", tuning={"compiled_from_rows": 1}
)
class LateListingShardPart(CumulateShardPart):
    def _listed(self, partials: pl.DataFrame, unit: Sequence[str]) -> pl.DataFrame:
        newest = pl.col(FIRST_WINDOW).max()
        first = newest.over([*unit, LAST_WINDOW])
        return super()._listed(partials.with_columns(first.alias(FIRST_WINDOW)), unit)


def local(_: Pipeline, query: Query) -> bool:
    return not query.window.traits.on_grid


planted_in_local_periods = partial(
    planted, shows_in=some_query(cumulate, local), wish=Wish(classes=("cumulate local",))
)


# Local days that always have 24 hours. How one gets it: a period's end is its begin and its length.
@planted_in_local_periods("cumulate_local_day_of_24_hours", "deterministic")
class NominalCalendar(CumulatingCalendar):
    def _around(self, instants: Ints) -> tuple[Ints, Ints, Ints]:
        period, begin, _ = super()._around(instants)
        return period, begin, begin + self.spans.calendar.mean_us


# The last window of a period that reaches into the next one. How one gets it: every window is a
# slide longer than the one before it, the last one, too.
@planted_in_local_periods(
    "cumulate_last_window_whole",
    "deterministic, closing",
    at="windowing.engine.windows.cumulate:CumulatingCalendar.ends",
)
def unclipped_ends(numbering: CumulatingCalendar, windows: Ints) -> Ints:
    period, step = np.divmod(windows, numbering.steps)
    ends: Ints = numbering.spans.begins(period) + (step + 1) * numbering.slide
    return ends


# Numbers that repeat, as a day of 25 hours has more windows than numbers. How one gets it: a period
# has as many numbers as it usually has windows.
@planted_in_local_periods(
    "cumulate_numbers_of_usual_days",
    "deterministic",
    at="windowing.engine.windows.classes:numbering_of",
)
def usual_numbering(window: Cumulate) -> Periodic:
    numbering = numbering_of(window)
    usual = -(-(window.range_ - DAY_US) // window.slide)
    return replace(cast("CumulatingCalendar", numbering), steps=usual)
