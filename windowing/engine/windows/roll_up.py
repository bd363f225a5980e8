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

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.aggregates import Accumulators
from windowing.engine.aggregates.schema import Role, StateColumn
from windowing.engine.columns import FIRST_WINDOW, LAST_WINDOW, RECORDS, WINDOW_ID
from windowing.engine.groups import Groups, no_extreme
from windowing.engine.loops.cells import LEAST, MOST, SUM, cumulate
from windowing.engine.wids import Flags, Ints

_SUMS: Final = (Role.SUM, Role.BIN)
_CELLS_PER_LISTED: Final = 8
"""How many cells cost no more than one window that is listed for one slice; measured."""


@dataclass(frozen=True)
class _Runs:
    """Runs of windows, each within a block.

    Attributes:
        row: the slice of each.
        group: its group, numbered from 0.
        block: its block, numbered from 0.
        first, last: its first and last window, counted from the block's begin.
    """

    row: Ints
    group: Ints
    block: Ints
    first: Ints
    last: Ints

    def cell(self, blocks: int, length: int, place: Ints) -> Ints:
        """Return the cell of a place in the block of each."""
        return (self.group * blocks + self.block) * length + place

    def where(self, chosen: Flags) -> _Runs:
        """Return some of them."""
        return _Runs(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def rolled_up(
    accumulators: Accumulators, slices: pl.DataFrame, by: Sequence[str]
) -> pl.DataFrame | None:
    """Return the merged state of every window that holds anything, by group; or None.

    Args:
        accumulators: of the query.
        slices: partial states with their first and last window, each pair once in a group.
        by: the columns of a group.

    Returns:
        the columns `by`, `window_id` and the states; None: it is cheaper to list the windows of
        every slice, or the only way, as for states that are not numbers.
    """
    first, last = (slices[name].to_numpy() for name in (FIRST_WINDOW, LAST_WINDOW))
    columns = accumulators.schema.among(slices, *_SUMS, Role.MIN, Role.MAX)
    numeric = all(slices[column.name].dtype in (pl.Int64, pl.Float64) for column in columns)
    if accumulators.schema.held or not numeric:
        return None
    groups = Groups.by(slices, by)
    length, origin = int((last - first).max()) + 1, int(first.min())
    count = int(last.max()) - origin + 1
    blocks = -(-count // length)
    listed = int((last - first + 1).sum())
    if groups.count * blocks * length > _CELLS_PER_LISTED * listed:
        return None
    runs = _in_blocks(groups.number, first - origin, last - origin, length)
    ends = np.where(runs.block == blocks - 1, count - 1 - runs.block * length, length - 1)
    back, front = runs.first == 0, runs.last == ends
    if not (back | front).all():
        return None
    cells = _Cells((groups.count, blocks, length), runs.where(back), runs.where(~back))
    held = np.flatnonzero(cells.sums(slices[RECORDS].to_numpy()))
    # The last block may be longer than there are windows.
    held = held[held % (blocks * length) < count]
    in_group, window = np.divmod(held, blocks * length)
    return pl.DataFrame(
        [
            *slices.select(by)[groups.first[in_group]].iter_columns(),
            pl.Series(WINDOW_ID, window + origin),
            *(cells.of(column, slices[column.name])[held] for column in columns),
        ]
    )


class _Cells:
    """Arrays with a cell for each group and window.

    Args:
        shape: how many groups and blocks there are, and the length of a block.
        back: runs that begin where their block begins.
        front: runs that end where it ends.
    """

    def __init__(self, shape: tuple[int, int, int], back: _Runs, front: _Runs) -> None:
        _, blocks, self._length = shape
        self._size = math.prod(shape)
        self._back = back.row, back.cell(blocks, self._length, back.last)
        self._front = front.row, front.cell(blocks, self._length, front.first)

    def of(self, column: StateColumn, values: pl.Series) -> pl.Series:
        """Return a column of states, merged into every cell."""
        if column.role in _SUMS:
            return pl.Series(column.name, self.sums(values.fill_null(0).to_numpy()))
        smallest = column.role is Role.MIN
        known = values.is_not_null().to_numpy()
        rest = no_extreme(values.dtype, largest=not smallest)
        filled = values.fill_null(rest).to_numpy()
        found = pl.Series(column.name, self._merged(filled, LEAST if smallest else MOST, rest))
        if known.all():
            return found
        there = pl.Series(self.sums(known.astype(np.int64)) > 0)
        return found.zip_with(there, pl.Series(column.name, [None], dtype=values.dtype))

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return numbers, added up in every cell."""
        return self._merged(values, SUM, 0)

    def _merged(self, values: NDArray[Any], how: int, rest: Any) -> NDArray[Any]:
        cells = np.full(self._size, rest, dtype=values.dtype)
        cumulate(values, self._back, self._front, how, self._length, cells)
        return cells


def _in_blocks(group: Ints, first: Ints, last: Ints, length: int) -> _Runs:
    """Cut runs where blocks begin; none reaches into more than two."""
    row, block = np.arange(len(group)), first // length
    begin = block * length
    here = _Runs(row, group, block, first - begin, np.minimum(last - begin, length - 1))
    beyond = last >= begin + length
    there = _Runs(row, group, block + 1, np.zeros_like(first), last - begin - length).where(beyond)
    pairs = ((getattr(one, name) for one in (here, there)) for name in here.__dataclass_fields__)
    return _Runs(*map(np.concatenate, map(list, pairs)))
