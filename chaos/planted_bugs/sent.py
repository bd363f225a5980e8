"""Defects of which rows are sent – of windows without records, by `having` – and how they stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import retracting, several_lanes, some_query, updates
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.aggregates import Accumulators
from windowing.engine.columns import PARTITION, RECORDS, RETRACTS, REVISION, TOMBSTONE, VALUES
from windowing.engine.having import SentRows
from windowing.engine.progress.reached import Progress
from windowing.engine.reading.expressions.program import Evaluated
from windowing.engine.storage.groups import Groups
from windowing.engine.wids import ENDED, Ints
from windowing.engine.windows.empties import EmptyWindows
from windowing.engine.windows.part import Tables
from windowing.engine.windows.results import listed_offsets
from windowing.engine.windows.sliding import SlidingShardPart
from windowing.engine.windows.sliding_lane import PARTIALS
from windowing.model.file.pipeline import Pipeline, Query

_WISH = Wish(rows=1.0, long=0.0)
_EMPTIES = "windowing.engine.windows.empties:EmptyWindows"
_SENT = "windowing.engine.having:SentRows"
_ROWS = "deterministic, closing"


def fills(_: Pipeline, query: Query) -> bool:
    return query.empty_after > 0


def judged(_: Pipeline, query: Query) -> bool:
    return query.having is not None


def withdraws(_: Pipeline, query: Query) -> bool:
    return query.having is not None and query.accumulation == "accumulating"


_FILLED = some_query(fills)
_WITHDRAWN = some_query(withdraws, updates)


# Windows without records that never stop. How one gets it: a key that was seen is filled up to
# progress, as by `GAPFILL` between two bounds.
@planted(
    "empty_windows_never_stop", _ROWS, at=f"{_EMPTIES}.called_by", shows_in=_FILLED, wish=_WISH
)
def called_for_ever(self: EmptyWindows, on_time: pl.DataFrame) -> Ints:
    return np.full(len(on_time), self._last)


# One window without records too few. How one gets it: the window that calls for them is counted,
# too.
@planted(
    "empty_windows_one_too_few", _ROWS, at=f"{_EMPTIES}.called_by", shows_in=_FILLED, wish=_WISH
)
def called_with_itself(self: EmptyWindows, on_time: pl.DataFrame) -> Ints:
    return _called_by(self, on_time) - 1


_called_by = EmptyWindows.called_by


# Windows without records behind late records. How one gets it: whatever is in the state was there.
@planted(
    "empty_windows_called_by_late_records",
    _ROWS,
    shows_in=some_query(fills, updates),
    wish=_WISH,
)
class CalledByLateShardPart(SlidingShardPart):
    def _empty_rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        on_time = pl.lit(np.iinfo(np.int64).min).alias("release")
        called = tables[PARTIALS].with_columns(on_time)
        return super()._empty_rows({**tables, PARTIALS: called}, before, after)


# Windows without records up to the last that was called for, once all lanes have ended. How one
# gets it: the end of the lanes is a progress like any other.
@planted(
    "empty_windows_after_the_end", _ROWS, at=f"{_EMPTIES}.reached", shows_in=_FILLED, wish=_WISH
)
def up_to_the_last(self: EmptyWindows, units: pl.DataFrame, after: Progress, last: Ints) -> Ints:
    del self, units, after
    return np.minimum(last, ENDED - 1)


# A count of nothing that is null. How one gets it: `sum` of no ones.
@planted(
    "empty_windows_count_null",
    _ROWS,
    at="windowing.engine.aggregates.plan:Accumulators.of_none",
    shows_in=_FILLED,
    wish=_WISH,
)
def null_of_none(self: Accumulators, rows: int) -> list[pl.Series]:
    return [pl.Series(one.name, [None] * rows, dtype=one.dtype) for one in _of_none(self, rows)]


_of_none = Accumulators.of_none


# Windows without records that are forgotten with the window before them. How one gets it: state is
# kept for what it is in, and a window without records has none.
@planted(
    "empty_windows_need_kept_state", _ROWS, at=f"{_EMPTIES}.callers", shows_in=_FILLED, wish=_WISH
)
def forgotten(self: EmptyWindows, on_time: pl.DataFrame, gone: Ints) -> pl.DataFrame:
    del self, gone
    return on_time.clear()


# A row without records that stays beside the one with late records. How one gets it: what is taken
# back is computed from the records that it had.
@planted(
    "empty_row_is_not_retracted",
    _ROWS,
    shows_in=some_query(fills, updates, retracting),
    wish=_WISH,
)
class NotTakenBackShardPart(SlidingShardPart):
    def _empties_taken_back(self, *args: Any) -> pl.DataFrame:
        return super()._empties_taken_back(*args).clear()


# Rows that do not hold are left out, and what was sent before stays. How one gets it: a filter
# behind the aggregation, as for streams without revisions.
@planted("no_tombstone", _ROWS, at=f"{_SENT}.of_rows", shows_in=_WITHDRAWN, wish=_WISH)
def filtered_alone(self: SentRows, rows: pl.DataFrame) -> pl.DataFrame:
    sent = _of_rows(self, rows)
    return sent.filter(~pl.col(TOMBSTONE)) if TOMBSTONE in sent.columns else sent


_of_rows, _previous, _holds = SentRows.of_rows, SentRows._previous, SentRows.holds


# A tombstone for each revision that does not hold. How one gets it: "something was sent" instead of
# "what was sent last holds".
@planted("tombstone_twice", _ROWS, at=f"{_SENT}._previous", shows_in=_WITHDRAWN, wish=_WISH)
def ever_sent(self: SentRows, rows: pl.DataFrame, holds: pl.Series) -> pl.Series:
    return _previous(self, rows, holds) | (rows[REVISION] > 1)


# A tombstone that shows nothing. How one gets it: tombstones of sessions do.
@planted("tombstone_without_records", _ROWS, at=f"{_SENT}.of_rows", shows_in=_WITHDRAWN, wish=_WISH)
def without_records(self: SentRows, rows: pl.DataFrame) -> pl.DataFrame:
    sent = _of_rows(self, rows)
    if TOMBSTONE not in sent.columns:
        return sent
    there = pl.when(~pl.col(TOMBSTONE))
    return sent.with_columns(
        there.then(RECORDS).otherwise(0).alias(RECORDS), there.then(VALUES).alias(VALUES)
    )


# A revision that is judged by what the one before showed. How one gets it: rows and previous rows
# are mixed up in the join of the two.
@planted("having_of_the_row_before", _ROWS, at=f"{_SENT}.holds", shows_in=_WITHDRAWN, wish=_WISH)
def of_the_row_before(self: SentRows, rows: pl.DataFrame) -> pl.Series:
    holds = _holds(self, rows)
    if RETRACTS not in rows.columns:
        return holds
    late = (rows[REVISION] > 0) & ~rows[RETRACTS]
    return holds.zip_with(~late, _previous(self, rows, holds))


# Revisions that count the rows that were sent. How one gets it: they are numbered behind the
# filter.
@planted("revisions_renumbered", _ROWS, at=f"{_SENT}.of_rows", shows_in=_WITHDRAWN, wish=_WISH)
def renumbered(self: SentRows, rows: pl.DataFrame) -> pl.DataFrame:
    if not len(rows):
        return rows
    skipped = (rows[REVISION] > 0) & ~rows[RETRACTS] & ~_previous(self, rows, _holds(self, rows))
    sent = _of_rows(self, rows.with_columns(skipped=skipped))
    fewer = pl.when("skipped").then(pl.col(REVISION) - 1).otherwise(REVISION)
    return sent.with_columns(fewer.alias(REVISION)).drop("skipped")


# Null holds. How one gets it: a row is left out if the condition is false.
@planted(
    "having_takes_null",
    "deterministic, closing, early rows",
    at="windowing.engine.having:_true",
    shows_in=some_query(judged),
    wish=_WISH,
)
def not_false(found: Evaluated) -> pl.Series:
    return found.values.fill_null(value=True) & ~found.failed


# A retraction of what was never sent. How one gets it: each revision takes back the one before.
@planted(
    "retraction_of_nothing",
    _ROWS,
    at=f"{_SENT}.of_rows",
    shows_in=some_query(judged, updates, retracting),
    wish=_WISH,
)
def taken_back_always(self: SentRows, rows: pl.DataFrame) -> pl.DataFrame:
    sent = _of_rows(self, rows)
    if not self._retracts or not len(rows):
        return sent
    return pl.concat([rows.filter(RETRACTS), sent.filter(~pl.col(RETRACTS))])


# Offsets that stand by the names of lanes, or in no order. How one gets it: whoever spells a row
# sorts them anyway.
@planted(
    "offsets_the_other_way_round",
    "deterministic",
    at="windowing.engine.windows.results:lane_offsets",
    shows_in=some_query(several_lanes),
)
def falling_offsets(lanes: pl.DataFrame, groups: Groups) -> pl.Series:
    ordered = lanes[groups.ordered_by(-lanes[PARTITION].cast(pl.Int64).to_numpy())]
    return listed_offsets(ordered, np.cumsum(groups.sizes))
