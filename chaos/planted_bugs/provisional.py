"""Defects of early rows, and of lanes that are silent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec
import polars as pl

from chaos.planted_bugs.conditions import early, idle, some_query
from chaos.planted_bugs.deltas import COLD
from chaos.planted_bugs.planted import planted
from windowing.engine.early import EarlyRows, EarlyState
from windowing.engine.progress.clock import ClockId
from windowing.engine.progress.idle import IdleLanes, left_out
from windowing.engine.progress.reached import LaneProgress, Progress
from windowing.engine.shard import Shard
from windowing.engine.storage.cold import ColdState
from windowing.engine.storage.parcel import Parcel
from windowing.engine.storage.state import StateStore
from windowing.engine.storage.tables import ShardState
from windowing.engine.windows.part import Tables

_EARLY = "windowing.engine.early:EarlyRows"
_LEFT_OUT = "windowing.engine.shard:left_out"
_LATELY = "idle lately"
_SHOWS = some_query(early)

_counted, _wanted = EarlyRows._counted, EarlyRows._wanted

# --- early rows -------------------------------------------------------------------------------


# Windows are shown again although nothing new is in them. How one gets it: `>=` a number of new
# records, and a period that asks for none.
@planted("early_row_without_news", "early rows", at=f"{_EARLY}._wanted", shows_in=_SHOWS)
def nothing_is_enough(rows: EarlyRows, known: EarlyState, wall_us: int | None) -> int | None:
    wanted = _wanted(rows, known, wall_us)
    return None if wanted is None else wanted - 1


# Early rows that are numbered from 1 with each batch. How one gets it: what was shown is joined,
# and its number is not.
@planted("early_rows_numbered_anew", "early rows", at=f"{_EARLY}._counted", shows_in=_SHOWS)
def numbered_anew(rows: EarlyRows, opened: pl.DataFrame, known: EarlyState) -> pl.DataFrame:
    return _counted(rows, opened, known).with_columns(number=pl.lit(0, dtype=pl.Int64))


# Windows that are shown by the records that they had when they were first seen. How one gets it: a
# `coalesce` with its arguments the wrong way round.
@planted("early_row_counts_from_the_start", "early rows", at=f"{_EARLY}._counted", shows_in=_SHOWS)
def counted_from_the_start(
    rows: EarlyRows, opened: pl.DataFrame, known: EarlyState
) -> pl.DataFrame:
    found = _counted(rows, opened, known)
    shown = pl.when(pl.col("number") > 1).then(0).otherwise("shown").cast(pl.Int64)
    return found.with_columns(shown=shown)


# Early rows without the cold state. How one gets it: the step for rows that are due
# reads it if it is due, and the one for early rows is a copy of that.
@planted("early_rows_without_cold_state", "early rows", shows_in=_SHOWS, tuning=COLD)
class NearShard(Shard):
    def _early_rows(
        self,
        store: StateStore,
        state: ShardState,
        parcels: Sequence[Parcel],
        after: Mapping[ClockId, Progress],
        wall_us: int | None,
    ) -> dict[str, pl.DataFrame]:
        cold, state.cold = state.cold, ColdState()
        rows = super()._early_rows(store, state, parcels, after, wall_us)
        state.cold = cold
        return rows


# --- silent lanes -----------------------------------------------------------------------------


# Silent lanes are left out for good: the progress of the state is changed in its place, and windows
# close. How one gets it: a list is given, changed and returned.
@planted(
    "silent_lanes_left_out_for_good",
    "closing, deterministic, progress, dead letters, conservation, early rows",
    at=_LEFT_OUT,
    shows_in=idle,
)
def left_out_for_good(lanes: Sequence[LaneProgress], silent: Collection[int]) -> list[LaneProgress]:
    found = left_out(lanes, silent)
    if isinstance(lanes, list):
        lanes[:] = found
    return found


# Windows that only silent lanes hold open are shown in every batch. How one gets it: the two
# reasons for an early row are joined by "or", and the number of new records is asked in one.
@planted("silence_shows_what_is_not_new", "early rows", shows_in=idle)
class InsistentRows(EarlyRows):
    def _due(
        self,
        known: EarlyState,
        tables: Tables,
        after: Progress,
        wanted: int | None,
        without_silent: Progress | None,
    ) -> pl.DataFrame:
        wanted = wanted if without_silent is None else 0
        return super()._due(known, tables, after, wanted, without_silent)


# What is shown because of silent lanes is not noted, so that its number is sent again. How one gets
# it: a new reason for a row, behind the lines that note it.
@planted("silence_leaves_no_note", "early rows", shows_in=idle)
class ForgetfulRows(EarlyRows):
    def _due(
        self,
        known: EarlyState,
        tables: Tables,
        after: Progress,
        wanted: int | None,
        without_silent: Progress | None,
    ) -> pl.DataFrame:
        before = known.shown
        rows = super()._due(known, tables, after, wanted, without_silent)
        if wanted is None:
            known.shown = before
        return rows


# Of several silent lanes, one is waited for. How one gets it: "unchanged if all are silent" is
# asked of the lane, in a loop, where it is a question of all.
@planted("last_silent_lane_is_waited_for", "early rows", at=_LEFT_OUT, shows_in=idle)
def all_but_the_last_left_out(
    lanes: Sequence[LaneProgress], silent: Collection[int]
) -> list[LaneProgress]:
    return left_out(lanes, sorted(silent)[:-1])


# A lane is silent one batch after it is. How one gets it: what was heard is read again behind the
# line that notes when the clock was looked at.
@planted("silence_is_noticed_a_batch_late", "early rows", shows_in=idle)
class LateEars(IdleLanes):
    def silent(
        self, store: StateStore, heard: Collection[int], wall_us: int | None
    ) -> frozenset[int]:
        found = super().silent(store, heard, wall_us)
        data = store.get(_LATELY)
        store.put(_LATELY, msgspec.msgpack.encode(sorted(found)))
        before: list[int] = [] if data is None else msgspec.msgpack.decode(data)
        return found & frozenset(before)
