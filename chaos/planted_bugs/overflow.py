"""Defects of sums that leave int64: which row says so, and what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import computing, several_lanes, sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.aggregates.plan import Values
from windowing.engine.aggregates.sums import Sums
from windowing.engine.columns import OVERFLOW, REVISION, WINDOW_ID
from windowing.engine.storage.groups import Groups
from windowing.engine.windows.results import Results
from windowing.model.lengths import INT64_MAX, INT64_MIN

_SUMS = computing(("sum",), "int")
_WISH = Wish(overflow=1.0, refusals=False)


def _wrapped(total: int) -> int:
    return (total - INT64_MIN) % 2**64 + INT64_MIN


# Sums that wrap around. How one gets it: a plain addition of columns of 64 bits.
@planted(
    "overflow_wraps",
    "deterministic",
    at="windowing.engine.aggregates.plan:_whole_sums",
    shows_in=some_query(_SUMS),
    wish=_WISH,
)
def wrapped_sums(sums: Sums) -> Values:
    return [_wrapped(total) if n else None for total, n in sums.each()]


# A sum that leaves int64 makes that of another key null. How one gets it: nulls by positions among
# the states with values, taken for positions among all.
@planted(
    "overflow_nulls_another_key",
    "deterministic",
    at="windowing.engine.aggregates.plan:_whole_sums",
    shows_in=some_query(_SUMS),
    wish=_WISH,
)
def nulls_beside(sums: Sums) -> Values:
    each = [*sums.each()]
    leaves = [bool(n) and not INT64_MIN <= total <= INT64_MAX for total, n in each]
    shifted = [*leaves[-1:], *leaves[:-1]]
    return [
        None if gone or not n else _wrapped(total)
        for gone, (total, n) in zip(shifted, each, strict=True)
    ]


# Late revisions whose sum is null, and that do not say why. How one gets it: the mark is added
# where windows close.
@planted(
    "overflow_unmarked_when_late",
    "deterministic",
    at="windowing.engine.windows.sliding:Results",
    shows_in=some_query(sliding, _SUMS, updates),
    wish=_WISH,
)
class UnmarkedResults(Results):
    def of_merged(self, merged: pl.DataFrame, *more: str) -> pl.DataFrame:
        rows = super().of_merged(merged, *more)
        first = pl.when(pl.col(REVISION) == 0).then(OVERFLOW)
        return rows.with_columns(first.alias(OVERFLOW))


# A sum that left int64 in one lane and came back with the others is marked. How one gets it: each
# partial sum is checked.
@planted(
    "overflow_on_the_way_counts",
    "deterministic",
    at="windowing.engine.windows.sliding:Results",
    shows_in=some_query(sliding, _SUMS, several_lanes),
    wish=replace(_WISH, classes=("sliding",), queries_max=2),
)
class CheckedResults(Results):
    def of(self, parts: pl.DataFrame, *more: str) -> pl.DataFrame:
        rows = super().of(parts, *more)
        marks = self._accumulators.overflow(parts, self._accumulators.results(parts))
        groups = Groups.by(parts, [*self._names, WINDOW_ID, REVISION, *more])
        for row in np.unique(groups.number[marks.is_not_null().to_numpy()]).tolist():
            rows = _marked(rows, row, marks.drop_nulls()[0].to_list())
        return rows


def _marked(rows: pl.DataFrame, row: int, names: Sequence[str]) -> pl.DataFrame:
    marks = rows[OVERFLOW].to_list()
    marks[row] = marks[row] or [*names]
    return rows.with_columns(pl.Series(OVERFLOW, marks, dtype=pl.List(pl.String)))
