"""Defects of families: queries that share slices, and get each other's rows or none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import (
    computing,
    dropping,
    families_of,
    overlapping,
    shares_slices,
    sliding,
    some_query,
    updates,
)
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.columns import AT, OFFSET
from windowing.engine.families.cells import Cells, Verdicts
from windowing.engine.families.due_rows import DueWindows, Held, _Extremes
from windowing.engine.families.grids import Grids
from windowing.engine.families.lane_part import FamilyLanePart, Placement, _distinct
from windowing.engine.families.shard_part import FamilyShardPart, _spanned
from windowing.engine.storage.cold import Move
from windowing.engine.wids import NOTHING_YET, Flags, Ints
from windowing.engine.windows.part import Outcome, Scan, counts_of
from windowing.model.file.pipeline import Pipeline

planted_in_slices = partial(
    planted, shared=True, shows_in=shares_slices, wish=Wish(classes=("sliding",), alike=1)
)


# A calendar of slides that forgets where windows begin. How one gets it: the paper's slides have
# no origin; all of them fire at multiples.
@planted_in_slices("due_by_the_epoch", "deterministic, closing")
class PhaselessShardPart(FamilyShardPart):
    def _due(self, move: Move) -> Ints:
        slides = self._family.grids.slides[:, 0]
        return np.flatnonzero(move.before_us // slides < move.after_us // slides)


# Shared slices that are dropped when the first query no longer needs them. How one gets it: the
# family is purged by the rule of one query, the first.
@planted_in_slices("kept_for_the_shortest", "deterministic, closing")
class HurriedShardPart(FamilyShardPart):
    def _until(self, table: pl.DataFrame) -> Ints:
        first = self._family.grids.some(slice(0, 1))
        until: Ints = first.ends(first.last(table[AT].to_numpy()))[0] + self._past_end
        return until


# Shared slices that do not know from which window end on their late records count. How one gets
# it: slices are keyed by their place alone, as for one query without disorder.
@planted_in_slices("late_for_one_is_late_for_none", "deterministic, conservation, closing")
class ForgivingLanePart(FamilyLanePart):
    def _reached(self, cells: Cells, release: Ints, progress_us: int | Ints) -> Placement:
        del progress_us
        return Placement(cells, release)


_SHARD, _LANE = (
    "windowing.engine.families.shard_part",
    "windowing.engine.families.lane_part:FamilyLanePart",
)
_DUE = "windowing.engine.families.due_rows"
_BY_ROWS = "deterministic, closing, exactly once, no error"
AT_ONCE = {"members_at_once_from": 1, "due_cells_free": 1 << 16, "due_windows_max": 1 << 24}
"""Rows of members are made at once, wherever they can be."""

_ALIKE = Wish(classes=("sliding",), alike=1, usual=0.5)


def _extremes(pipeline: Pipeline) -> bool:
    return shares_slices(pipeline) and some_query(computing(("min", "max")))(pipeline)


def _more_variants(pipeline: Pipeline) -> bool:
    refuse = some_query(dropping)(pipeline)
    return refuse and any(
        [one.member for one in family.variants] != [*range(len(family.members))]
        for family in families_of(pipeline)
    )


def _overlapping(pipeline: Pipeline) -> bool:
    return shares_slices(pipeline) and some_query(sliding, overlapping)(pipeline)


def _revised(pipeline: Pipeline) -> bool:
    return shares_slices(pipeline) and some_query(updates)(pipeline)


planted_in_rows_at_once = partial(
    planted, expected=_BY_ROWS, shared=True, tuning=AT_ONCE, wish=_ALIKE
)


# Rows of a window that is another member's: numbers of the members that are due are taken for
# numbers of members. How one gets it: an index into a selection, used on the whole.
@planted_in_rows_at_once("member_of_those_due", at=f"{_DUE}:DueWindows.of", shows_in=shares_slices)
def of_those_due(
    grids: Grids, members: Ints, first: Ints, last: Ints, most: int
) -> DueWindows | None:
    found = _listed(grids, members, first, last, most)
    if found is None or not len(found):
        return found
    places = np.searchsorted(members, found.members)
    return DueWindows(places, found.ids, found.start, found.end)


_listed = DueWindows.of


# Members at once, without the states of late records that their windows take on time. How one gets
# it: what is on time comes first in a test, and what is late is "for the epochs".
@planted_in_rows_at_once(
    "members_without_late_states", at=f"{_SHARD}:listed", shows_in=_overlapping
)
def without_late_states(
    states: pl.DataFrame, at: Ints, opened: Ints, windows: DueWindows
) -> Iterator[pl.DataFrame]:
    del states, at, opened, windows
    yield from ()


# Extremes of a run from two overlapping runs, of which the second begins where the first one ends.
# How one gets it: overlapping is right for extremes, and looks wrong.
@planted_in_rows_at_once(
    "extreme_runs_do_not_overlap", at=f"{_DUE}:_Extremes.of", shows_in=_extremes
)
def of_runs_apart(extremes: _Extremes, low: Ints, high: Ints, held: Held) -> pl.Series:
    _, window = held
    begin, end = low[window], high[window]
    group = held[0]
    power = np.log2(np.maximum(end - begin, 1)).astype(np.int64)
    values = np.empty(len(group), extremes.levels[0].dtype)
    for level, table in enumerate(extremes.levels):
        here = power == level
        if here.any():
            behind = np.minimum(begin[here] + (1 << level), table.shape[1] - 1)
            values[here] = extremes.merge(
                table[group[here], begin[here]], table[group[here], behind]
            )
    found = pl.Series(extremes.name, values)
    if extremes.known is None:
        return found
    there = extremes.known.of(low, high, held) > 0
    return found.zip_with(there, pl.Series(extremes.name, [None], dtype=found.dtype))


# What changes no minimum and what changes no maximum are the wrong way round, so that windows with
# a slice without values have rubbish. How one gets it: two of these, with opposite arguments.
@planted_in_rows_at_once(
    "extreme_of_nothing_is_rubbish", at=f"{_DUE}:no_extreme", shows_in=_extremes
)
def the_other_rest(dtype: pl.DataType, *, largest: bool) -> Any:
    if dtype.is_float():
        return np.inf if largest else -np.inf
    info = np.iinfo(np.int64)
    return info.max if largest else info.min


planted_in_members = partial(planted, shared=True, wish=_ALIKE)


# Members' numbers of refused records, looked up by the number of a variant. How one gets it: in a
# test, each query has its own windows, and both numbers are the same.
@planted_in_members(
    "counts_of_another_member", "conservation", at=f"{_LANE}._verdicts", shows_in=_more_variants
)
def by_the_variants_number(
    part: FamilyLanePart, scan: Scan, found: Placement
) -> tuple[Outcome, Flags]:
    cells, lane = found.cells, part._lane(scan.partition)
    distinct, known, cell_of = _distinct(cells, lane.known(scan.data[OFFSET].to_numpy()))
    counts = np.bincount(cell_of, minlength=len(distinct))
    verdicts = Verdicts.of(lane, distinct, known, counts, part._query.late)
    by_variant = np.arange(len(part._family.variants)) % len(verdicts.refused)
    refused, outside = verdicts.refused[by_variant], verdicts.outside[by_variant]
    applied = len(cells) - refused - outside
    return Outcome(
        dead_letters=part._dead_letters(scan, verdicts, cell_of),
        counts=counts_of(part._query.late, applied=applied, outside=outside, refused=refused),
    ), verdicts.wanted[cell_of]


# The last of several windows that a member's state counts in is left out. How one gets it: a span
# is given with its end in one place, and with its last window in another.
@planted_in_members(
    "member_without_the_last_window", _BY_ROWS, at=f"{_SHARD}:_spanned", shows_in=_revised
)
def without_the_last(states: pl.DataFrame, chosen: Flags, first: Ints, last: Ints) -> pl.DataFrame:
    return _spanned(states, chosen, first, np.where(last > first, last - 1, last))


# The rows of windows that end exactly where progress stands wait for the next step. How one gets
# it: `open_from` of the instant itself, once with and once without it.
@planted_in_members(
    "member_waits_at_its_end",
    _BY_ROWS,
    at=f"{_SHARD}:FamilyShardPart._between",
    shows_in=shares_slices,
)
def waiting_at_its_end(part: FamilyShardPart, move: Move) -> tuple[Ints, Ints]:
    before, after = (max(us - 1, NOTHING_YET) for us in move)
    return _between(part, Move(before, after))


_between = FamilyShardPart._between
