"""Defects of operators in two stages: panes of one slide each, and reports of panes."""

from __future__ import annotations

from functools import partial

import polars as pl

from chaos.planted_bugs.conditions import in_two_stages, some_operators
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.columns import AT, AT_FIRST, AT_LAST, PARTITION, TIME
from windowing.engine.progress.reached import Progress
from windowing.engine.rows.two_stage import _BEGAN, _NUMBER, _PANE, PANES, TwoStagePart
from windowing.engine.rows.units import DUE, UNITS
from windowing.engine.wids import ENDED
from windowing.engine.windows.part import Tables

_BY_ROWS = "deterministic, exactly once, closing, no error"
_PART = "windowing.engine.rows.two_stage:TwoStagePart"
_SHOWS = some_operators(in_two_stages)
_OPERATORS = Wish(classes=("operators",))


planted_in_panes = partial(planted, expected=_BY_ROWS, shows_in=_SHOWS, wish=_OPERATORS)


# The newest pane is merged twice: it is in the state, and among those with new records. How one
# gets it: what is kept open is added to what is held.
@planted_in_panes("panes_merged_twice", at=f"{_PART}._merged")
def merged_twice(part: TwoStagePart, partials: pl.DataFrame, by: str) -> pl.DataFrame:
    found = _merged(part, partials, by)
    if by != _PANE or found[_PANE].n_unique() < 2:
        return found
    newest = found.filter(pl.col(_PANE) == found[_PANE].max())
    return _merged(part, part._accumulators.concat([found, newest]), by)


_merged = TwoStagePart._merged


# Reports with a pane too many, which their range has just left. How one gets it: the last tick is
# counted from the end of a pane, like the first one.
@planted_in_panes("pane_leaves_one_tick_late", at=f"{_PART}._last_tick")
def one_tick_late(part: TwoStagePart) -> pl.Expr:
    return (pl.col(_PANE) + 1) * part._slide_us + part._range_us


_advance = TwoStagePart.advance


# Panes whose last tick is the next one are dropped before it. How one gets it: `>` for `>=`.
@planted_in_panes("pane_dropped_before_its_last_tick", at=f"{_PART}.advance")
def dropped_before_its_last(
    part: TwoStagePart, tables: Tables, after: Progress, wall_us: int | None
) -> tuple[pl.DataFrame, Tables]:
    rows, held = _advance(part, tables, after, wall_us)
    next_us = (after.highest // part._slide_us + 1) * part._slide_us
    if after.highest != ENDED:
        held[PANES] = held[PANES].filter(part._last_tick() > next_us)
    return rows, held


# A unit that begins with its newest record. How one gets it: of three columns two are minima, and
# one is not.
@planted_in_panes("unit_begins_with_its_newest", at=f"{_PART}._units")
def begun_with_its_newest(part: TwoStagePart, tables: Tables, new: pl.DataFrame) -> pl.DataFrame:
    first = new.group_by(part._unit).agg(
        pl.col(AT).max().alias(_BEGAN),
        pl.lit(0, dtype=pl.Int64).alias(_NUMBER),
        pl.lit(ENDED, dtype=pl.Int64).alias(DUE),
    )
    known = [tables[UNITS], first] if UNITS in tables else [first]
    extremes = (pl.col(_BEGAN).min(), pl.col(_NUMBER).max(), pl.col(DUE).min())
    return pl.concat(known).group_by(part._unit).agg(*extremes)


# Panes of records at a pane's very beginning belong to the pane before. How one gets it: windows of
# these operators exclude their ends, and it is the beginnings that are excluded.
@planted_in_panes("pane_without_its_beginning", at=f"{_PART}._panes")
def without_its_beginning(part: TwoStagePart, tables: Tables, new: pl.DataFrame) -> pl.DataFrame:
    records = new.with_columns(pl.col(AT).alias(TIME))
    own = new.select(
        *part._by,
        PARTITION,
        ((pl.col(AT) - 1) // part._slide_us).alias(_PANE),
        pl.col(AT).alias(AT_FIRST),
        pl.col(AT).alias(AT_LAST),
    )
    lifted = own.with_columns(*part._accumulators.lift(records))
    parts = [tables[PANES], lifted] if PANES in tables else [lifted]
    return part._merged(part._accumulators.concat(parts), _PANE)
