"""The content of many windows that close at once, without counting a slice once per window.

A slice counts in a run of windows. Cut into blocks as long as the longest run, nearly all runs
begin where a block begins or end where it ends. Of those that begin there, a window holds all that
end at it or later: their states are cumulated from the back of the block. Of those that end there,
it holds all that begin at it or earlier: these are cumulated from the front. So a window costs two
states per key, however many slices it holds.

Source: Tangwongsan et al., "General incremental sliding-window aggregation", PVLDB 2015, section 3
(two stacks); as arrays over keys, blocks and windows: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.aggregates import Accumulators
from windowing.engine.aggregates.schema import Role, StateColumn
from windowing.engine.columns import (
    FIRST_OFFSET,
    FIRST_WINDOW,
    LAST_OFFSET,
    LAST_WINDOW,
    PARTITION,
    RECORDS,
    WINDOW_ID,
)
from windowing.engine.effects import took_effect
from windowing.engine.loops.cells import LEAST, MOST, SUM, cumulate, list_held
from windowing.engine.storage.groups import Groups, from_numbers, no_extreme, numbers
from windowing.engine.tuning import tuning
from windowing.engine.wids import Flags, Ints
from windowing.engine.windows.results import BY_LANE, listed_offsets

_SUMS: Final = (Role.SUM, Role.BIN)


@dataclass(frozen=True)
class _Windows:
    """The windows that close, cut into blocks, the last of which may reach further.

    Attributes:
        count: how many windows there are.
        length: of a block.
    """

    count: int
    length: int

    @property
    def cells(self) -> int:
        """How many cells a group has: one for each window of each block."""
        return -(-self.count // self.length) * self.length

    def among(self, cells: Ints) -> Ints:
        """Return which of these cells, of any groups, are those of windows."""
        return cells if self.cells == self.count else cells[cells % self.cells < self.count]


@dataclass(frozen=True)
class _Runs:
    """Runs of windows, each within a block.

    Attributes:
        row: the slice of each.
        group: its group, numbered from 0.
        begin: the first window of its block.
        first, last: its first and last window, counted from there.
    """

    row: Ints
    group: Ints
    begin: Ints
    first: Ints
    last: Ints

    def ends(self, windows: _Windows) -> Flags:
        """Return which of them end where their block ends."""
        ends: Flags = self.last == np.minimum(windows.count - self.begin, windows.length) - 1
        return ends

    def where(self, chosen: Flags) -> _Runs:
        """Return some of them."""
        return _Runs(*(getattr(self, field.name)[chosen] for field in fields(self)))


def rolled_up(
    accumulators: Accumulators,
    slices: pl.DataFrame,
    keys: Sequence[str],
) -> pl.DataFrame | None:
    """Return the state of every window that holds anything, merged over lanes; or None.

    Args:
        slices: partial states with their `partition`, and the windows that each counts in; some.

    Returns:
        the columns `keys`, `window_id`, the states, and instead of their first and last offset
        `offsets`, as `windowing.engine.windows.results.Results` describes them; None: it is cheaper
        to list the windows of every slice, or the only way, as for states that are not numbers.
    """
    columns = accumulators.schema.among(slices, *_SUMS, Role.MIN, Role.MAX)
    known = {column.name: numbers(slices[column.name]) for column in columns}
    if accumulators.schema.held or any(values is None for values in known.values()):
        return None
    units = Groups.by(slices, [*keys, PARTITION])
    first, last = (slices[name].to_numpy() for name in (FIRST_WINDOW, LAST_WINDOW))
    length, origin = int((last - first).max()) + 1, int(first.min())
    closing = _Windows(int(last.max()) - origin + 1, length)
    listed = int((last - first + 1).sum())
    if units.count * closing.cells > tuning().rolled_cells_per_listed * listed:
        return None
    rows = np.arange(len(slices))
    runs = _in_blocks(rows, units.number, (first - origin, last - origin), length)
    if not ((runs.first == 0) | runs.ends(closing)).all():
        return None
    owners = Groups.by(slices.select(*keys, PARTITION)[units.first], keys)
    owned = replace(runs, group=owners.number[runs.group])
    cells, by_lane = _Cells(owners.count, closing, owned), _Cells(units.count, closing, runs)
    states = [
        from_numbers(cells.of(column, values), slices[column.name].dtype)
        for column in columns
        if column.name not in BY_LANE and (values := known[column.name]) is not None
    ]
    records = next(state for state in states if state.name == RECORDS)
    held = closing.among(np.flatnonzero(records.to_numpy()))
    took_effect("slices rolled up", len(held))
    owner, window = np.divmod(held, closing.cells)
    named = units.first[owners.first[owner]]
    ends = (
        by_lane.ends(slices[FIRST_OFFSET], largest=False),
        by_lane.ends(slices[LAST_OFFSET], largest=True),
    )
    lane = slices[PARTITION][units.first]
    return pl.DataFrame(
        [
            *(slices[name][named] for name in keys),
            pl.Series(WINDOW_ID, window + origin),
            *(state[held] for state in states),
            _offsets(ends, lane, owners, (owner, window)),
        ]
    )


def _offsets(
    ends: tuple[Ints, Ints], lane: pl.Series, owners: Groups, held: tuple[Ints, Ints]
) -> pl.Series:
    """Return the first and last offset in each lane that a window has records of.

    Args:
        ends: the first and last offset in the cells of the keys in each lane.
        lane: of each key in a lane.
        owners: the keys in each lane by key.
        held: the key and the window of each cell that holds anything.
    """
    none = no_extreme(pl.Int64(), largest=True)
    units = owners.ordered_by(lane.cast(pl.Int64).to_numpy())
    members = units, np.concatenate(([0], np.cumsum(owners.sizes)))
    room = np.empty((3, np.count_nonzero(ends[1] != none)), dtype=np.int64)
    until = np.empty(len(held[0]), dtype=np.int64)
    count = list_held(held, members, ends, none, (room[0], room[1], room[2]), until)
    unit, first, last = room[:, :count]
    offsets = pl.Series(FIRST_OFFSET, first), pl.Series(LAST_OFFSET, last)
    return listed_offsets(pl.DataFrame([lane[unit], *offsets]), until)


class _Cells:
    """Arrays with a cell for each group and window.

    Args:
        groups: how many groups there are.
        runs: runs that begin where their block begins, or end where it ends.
    """

    def __init__(self, groups: int, windows: _Windows, runs: _Runs) -> None:
        self._size, self._length = groups * windows.cells, windows.length
        begin = runs.group * windows.cells + runs.begin
        self._runs = runs.row, begin, runs.first, runs.last

    def of(self, column: StateColumn, values: pl.Series) -> pl.Series:
        """Return a column of states, merged into every cell."""
        if column.role in _SUMS:
            known = values.fill_null(0) if values.null_count() else values
            return pl.Series(column.name, self._merged(known.to_numpy(), SUM, 0))
        largest = column.role is Role.MAX
        found = pl.Series(column.name, self.ends(values, largest=largest))
        if not values.null_count():
            return found
        known = values.is_not_null().cast(pl.Int64)
        there = pl.Series(self._merged(known.to_numpy(), SUM, 0) > 0)
        return found.zip_with(there, pl.Series(column.name, [None], dtype=values.dtype))

    def ends(self, values: pl.Series, *, largest: bool) -> NDArray[Any]:
        """Return the smallest or largest number in every cell; what changes none without any."""
        none = no_extreme(values.dtype, largest=largest)
        known = values.fill_null(none) if values.null_count() else values
        return self._merged(known.to_numpy(), MOST if largest else LEAST, none)

    def _merged(self, values: NDArray[Any], how: int, rest: Any) -> NDArray[Any]:
        cells = np.full(self._size, rest, dtype=values.dtype)
        # So it is with what most sums have beyond 32 bits.
        if how == SUM and not values.any():
            return cells
        cumulate(values, self._runs, how, self._length, cells)
        return cells


def _in_blocks(row: Ints, group: Ints, windows: tuple[Ints, Ints], length: int) -> _Runs:
    """Cut runs where blocks begin; none reaches into more than two."""
    first, last = windows
    begin = first // length * length
    here = _Runs(row, group, begin, first - begin, np.minimum(last - begin, length - 1))
    beyond = last >= begin + length
    if not beyond.any():
        return here
    end = begin + length
    there = _Runs(row, group, end, np.zeros_like(first), last - end).where(beyond)
    pairs = ((getattr(one, field.name) for one in (here, there)) for field in fields(here))
    return _Runs(*map(np.concatenate, map(list, pairs)))
