"""The content of all windows of a family that close at once, from columns over its slices.

A window holds a run of consecutive slices. Sums over runs are differences of running totals, which
are exact, since all sums are of integers; extremes over runs are those of two overlapping runs
whose length is a power of two. So a window costs a few steps per key, however many slices it holds,
and all windows of all grids are looked up together.

Sources: running totals as in Shein et al., "FlatFIT", SSDBM 2017; extremes by Bender &
Farach-Colton, "The LCA problem revisited", LATIN 2000 (sparse tables); over families: ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.aggregates.schema import Role, StateColumn, StateSchema
from windowing.engine.columns import OVERFLOW, RECORDS, VALUES, WINDOW_ID
from windowing.engine.families.family import MARK, Family, Variant
from windowing.engine.families.forming import families_of
from windowing.engine.families.grids import Grids
from windowing.engine.storage.groups import from_numbers, no_extreme, numbers
from windowing.engine.tuning import tuning
from windowing.engine.wids import Flags, Ints
from windowing.model import Pipeline

MEMBER: Final = "member"
"""The column with the number of a grid in its family."""

_SUMS: Final = (Role.SUM, Role.BIN)


@dataclass(frozen=True)
class DueWindows:
    """Windows that end while progress moves.

    Attributes:
        members: the number of the grid of each.
        ids: its number there.
        start, end: its extent.
    """

    members: Ints
    ids: Ints
    start: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(
        cls, grids: Grids, members: Ints, first: Ints, last: Ints, most: int
    ) -> DueWindows | None:
        """List windows; None: there are more than `most`.

        Args:
            members: the grids concerned.
            first: the first window of each of them.
            last: the last one.
            most: how many to list.
        """
        counts = np.maximum(last - first + 1, 0)
        if int(counts.sum()) > most:
            return None
        which = np.repeat(members, counts)
        place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        ids = np.repeat(first, counts) + place
        own = grids.some(which)
        starts, ends = own.bounds(ids)
        return cls(which, ids, starts, ends)

    def where(self, chosen: slice) -> DueWindows:
        """Return some of them."""
        columns = (self.members, self.ids, self.start, self.end)
        return DueWindows(*(column[chosen] for column in columns))


def is_worthwhile(schema: StateSchema, states: pl.DataFrame, groups: int, slices: int) -> bool:
    """Return whether columns over all slices are cheaper than to look at each state by itself.

    Args:
        groups: how many keys and lanes they have.
        slices: how many distinct slices.
    """
    columns = schema.among(states, *_SUMS, Role.MIN, Role.MAX)
    numeric = all(numbers(states[column.name]) is not None for column in columns)
    cheap = tuning().due_cells_free + tuning().due_cells_per_state * len(states)
    return not schema.held and numeric and groups * (slices + 1) <= cheap


def content(
    schema: StateSchema,
    states: pl.DataFrame,
    at: Ints,
    windows: DueWindows,
    by: Sequence[str],
) -> Iterator[pl.DataFrame]:
    """Yield the merged states of windows, by group, some windows at a time.

    Args:
        states: on-time states of slices.
        at: the beginning of the slice of each.

    Yields:
        the columns `by`, `member`, `window_id` and the states; only of windows that hold records.
    """
    if not len(states):
        return
    groups = states.select(by).unique(maintain_order=True).with_row_index("group")
    placed = states.select(by).join(
        groups, on=by, how="left", nulls_equal=True, maintain_order="left"
    )
    starts, slice_of = np.unique(at, return_inverse=True)
    cell = placed["group"].to_numpy().astype(np.int64), slice_of
    shape = (len(groups), len(starts))
    columns = [
        _column(column, states[column.name], cell, shape)
        for column in schema.among(states, *_SUMS, Role.MIN, Role.MAX)
    ]
    records = _totals(RECORDS, states[RECORDS].to_numpy(), cell, shape)
    keys = groups.drop("group")
    width = max(tuning().due_cells_max // len(groups), 1)
    for start in range(0, len(windows), width):
        some = windows.where(slice(start, start + width))
        low = np.searchsorted(starts, some.start)
        high = np.searchsorted(starts, some.end)
        group, window = np.nonzero(records.sums(low, high))
        if not len(group):
            continue
        picked = [
            pl.Series(MEMBER, some.members[window].astype(np.int32)),
            pl.Series(WINDOW_ID, some.ids[window]),
            *(one.of(low, high, (group, window)) for one in columns),
        ]
        yield keys[group].hstack(picked)


Cell = tuple[Ints, Ints]
Held = tuple[NDArray[Any], NDArray[Any]]
"""The groups and windows that hold records."""


@dataclass(frozen=True)
class _Sums:
    """Running totals of a column, by group.

    Attributes:
        totals: a row per group; one more column than there are slices.
    """

    name: str
    totals: Ints

    def sums(self, low: Ints, high: Ints) -> Ints:
        """Return the sum over the slices from `low` to before `high`, by group and window."""
        found: Ints = self.totals[:, high] - self.totals[:, low]
        return found

    def of(self, low: Ints, high: Ints, held: Held) -> pl.Series:
        """Return the states of some groups and windows."""
        group, window = held
        values = self.totals[group, high[window]] - self.totals[group, low[window]]
        return pl.Series(self.name, values)


@dataclass(frozen=True)
class _Extremes:
    """Extremes of a column over runs whose length is a power of two, by group.

    Attributes:
        levels: for each power, a row per group.
        merge: of two values, which is more extreme.
        known: how many values there are; None: every state has one.
        dtype: of the column; the levels are its values as numbers.
    """

    name: str
    levels: list[NDArray[Any]]
    merge: np.ufunc
    known: _Sums | None
    dtype: pl.DataType

    def of(self, low: Ints, high: Ints, held: Held) -> pl.Series:
        """Return the states of some groups and windows."""
        group, window = held
        begin, end = low[window], high[window]
        power = np.log2(np.maximum(end - begin, 1)).astype(np.int64)
        values = np.empty(len(group), self.levels[0].dtype)
        for level, table in enumerate(self.levels):
            here = power == level
            if here.any():
                rows, first, behind = group[here], begin[here], end[here]
                values[here] = self.merge(table[rows, first], table[rows, behind - (1 << level)])
        found = pl.Series(self.name, values)
        if self.known is not None:
            there = self.known.of(low, high, held) > 0
            found = found.zip_with(there, pl.Series(self.name, [None], dtype=found.dtype))
        return from_numbers(found, self.dtype)


def _column(
    column: StateColumn, values: pl.Series, cell: Cell, shape: tuple[int, int]
) -> _Sums | _Extremes:
    if column.role in _SUMS:
        return _totals(column.name, values.fill_null(0).to_numpy(), cell, shape)
    merge, dtype = np.minimum if column.role is Role.MIN else np.maximum, values.dtype
    whole = numbers(values)
    assert whole is not None  # noqa: S101 - else it is not worthwhile
    values = whole
    rest = no_extreme(values.dtype, largest=column.role is Role.MAX)
    dense = np.full(shape, rest, dtype=np.float64 if values.dtype.is_float() else np.int64)
    merge.at(dense, cell, values.fill_null(rest).to_numpy())
    levels = [dense]
    while 2 << (len(levels) - 1) <= shape[1]:
        half = 1 << (len(levels) - 1)
        levels.append(merge(levels[-1][:, :-half], levels[-1][:, half:]))
    known: Flags = values.is_not_null().to_numpy()
    counted = None if known.all() else _totals(column.name, known.astype(np.int64), cell, shape)
    return _Extremes(column.name, levels, merge, counted, dtype)


def _totals(name: str, values: Ints, cell: Cell, shape: tuple[int, int]) -> _Sums:
    totals = np.zeros((shape[0], shape[1] + 1), np.int64)
    np.add.at(totals, (cell[0], cell[1] + 1), values)
    return _Sums(name, np.cumsum(totals, axis=1))


def listed(
    states: pl.DataFrame, at: Ints, opened: Ints, windows: DueWindows
) -> Iterator[pl.DataFrame]:
    """Yield states of late records with each window that takes them on time.

    Args:
        states: of late records.
        at: the beginning of the slice of each.
        opened: the first window end that takes each.

    Yields:
        the states, with `member` and `window_id`.
    """
    width = max(tuning().due_cells_max // max(len(windows), 1), 1)
    for start in range(0, len(states), width):
        part = slice(start, start + width)
        begin, first = at[part].reshape(-1, 1), opened[part].reshape(-1, 1)
        takes = (windows.start <= begin) & (begin < windows.end) & (first <= windows.end)
        state, window = np.nonzero(takes)
        yield states[part][state].with_columns(
            pl.Series(MEMBER, windows.members[window].astype(np.int32)),
            pl.Series(WINDOW_ID, windows.ids[window]),
        )


class RowsByQuery:
    """Divides the rows that shards emit for families, by query."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    @cached_property
    def families(self) -> dict[str, Family]:
        """The families of the pipeline, by name; a plan may have some of them."""
        return families_of(self._pipeline)

    def family(self, flow: str) -> Family | None:
        """Return the family of this name; None: it is a query's, or a join's."""
        return self.families[flow] if flow.startswith(MARK) else None

    def of(self, flow: str, frame: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yield the rows of each query that has any, with its name.

        Args:
            flow: the name of a query, a join or a family.
        """
        family = self.family(flow)
        if family is None:
            yield flow, frame
            return
        by_member = {number: rows for (number,), rows in frame.group_by(MEMBER)}
        for variant in family.variants:
            rows = by_member.get(variant.member)
            if rows is not None:
                marks = overflow_of(rows, variant.shows)
                own = rows.drop(MEMBER).with_columns(shown(rows, variant), marks)
                for name in variant.names:
                    yield name, own


def overflow_of(rows: pl.DataFrame, shows: Iterable[tuple[str, str]]) -> pl.Series:
    """Name the overflown sums of a family's rows as queries call them.

    Args:
        shows: the names of the queries' aggregates, each with the family's.
    """
    known = rows[OVERFLOW]
    if known.null_count() == len(known):
        return known
    names = [[name for name, own in shows if own in (one or ())] for one in known.to_list()]
    return pl.Series(OVERFLOW, [one or None for one in names], dtype=known.dtype)


def shown(rows: pl.DataFrame, variant: Variant) -> pl.Series:
    """Return the values that queries show, of rows of their family.

    Args:
        rows: with the values of all aggregates.
    """
    values = rows[VALUES].struct
    columns = [values.field(own).alias(name) for name, own in variant.shows]
    return pl.DataFrame(columns).to_struct(VALUES)
