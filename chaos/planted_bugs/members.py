"""Defects of families: the rows of members that are made at once, or one after the other."""

from __future__ import annotations

from collections.abc import Iterator
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
from windowing.engine.columns import OFFSET
from windowing.engine.families.cells import Verdicts
from windowing.engine.families.due_rows import DueWindows, Held, _Extremes
from windowing.engine.families.grids import Grids
from windowing.engine.families.lane_part import FamilyLanePart, Placement, _distinct
from windowing.engine.families.shard_part import FamilyShardPart, _spanned
from windowing.engine.storage.cold import Move
from windowing.engine.wids import NOTHING_YET, Flags, Ints
from windowing.engine.windows.part import Outcome, Scan, counts_of
from windowing.model.file.pipeline import Pipeline

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


# Rows of a window that is another member's: numbers of the members that are due are taken for
# numbers of members. How one gets it: an index into a selection, used on the whole.
@planted(
    "member_of_those_due",
    _BY_ROWS,
    at=f"{_DUE}:DueWindows.of",
    shared=True,
    shows_in=shares_slices,
    wish=_ALIKE,
    tuning=AT_ONCE,
)
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
@planted(
    "members_without_late_states",
    _BY_ROWS,
    at=f"{_SHARD}:listed",
    shared=True,
    shows_in=_overlapping,
    wish=_ALIKE,
    tuning=AT_ONCE,
)
def without_late_states(
    states: pl.DataFrame, at: Ints, opened: Ints, windows: DueWindows
) -> Iterator[pl.DataFrame]:
    del states, at, opened, windows
    yield from ()


# Extremes of a run from two overlapping runs, of which the second begins where the first one ends.
# How one gets it: overlapping is right for extremes, and looks wrong.
@planted(
    "extreme_runs_do_not_overlap",
    _BY_ROWS,
    at=f"{_DUE}:_Extremes.of",
    shared=True,
    shows_in=_extremes,
    wish=_ALIKE,
    tuning=AT_ONCE,
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
@planted(
    "extreme_of_nothing_is_rubbish",
    _BY_ROWS,
    at=f"{_DUE}:no_extreme",
    shared=True,
    shows_in=_extremes,
    wish=_ALIKE,
    tuning=AT_ONCE,
)
def the_other_rest(dtype: pl.DataType, *, largest: bool) -> Any:
    if dtype.is_float():
        return np.inf if largest else -np.inf
    info = np.iinfo(np.int64)
    return info.max if largest else info.min


# Members' numbers of refused records, looked up by the number of a variant. How one gets it: in a
# test, each query has its own windows, and both numbers are the same.
@planted(
    "counts_of_another_member",
    "conservation",
    at=f"{_LANE}._verdicts",
    shared=True,
    shows_in=_more_variants,
    wish=_ALIKE,
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
@planted(
    "member_without_the_last_window",
    _BY_ROWS,
    at=f"{_SHARD}:_spanned",
    shared=True,
    shows_in=_revised,
    wish=_ALIKE,
)
def without_the_last(states: pl.DataFrame, chosen: Flags, first: Ints, last: Ints) -> pl.DataFrame:
    return _spanned(states, chosen, first, np.where(last > first, last - 1, last))


# The rows of windows that end exactly where progress stands wait for the next step. How one gets
# it: `open_from` of the instant itself, once with and once without it.
@planted(
    "member_waits_at_its_end",
    _BY_ROWS,
    at=f"{_SHARD}:FamilyShardPart._between",
    shared=True,
    shows_in=shares_slices,
    wish=_ALIKE,
)
def waiting_at_its_end(part: FamilyShardPart, move: Move) -> tuple[Ints, Ints]:
    before, after = (max(us - 1, NOTHING_YET) for us in move)
    return _between(part, Move(before, after))


_between = FamilyShardPart._between
