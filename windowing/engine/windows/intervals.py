"""The content of windows, if partial states belong to whole intervals of windows.

A partial state counts in the windows `w_first` to `w_last`. A binary tree over the ordered windows
splits any interval into O(log n) nodes; states are merged per node, and pushed down to the windows
below. So m states and n windows cost O((m + n) log n) merges, whatever the length of the intervals,
and merging need not be invertible, only commutative and associative.

Source: segment trees (Bentley 1977), here level by level over whole columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from windowing.engine.aggregates import Accumulators
from windowing.engine.columns import FIRST_WINDOW, LAST_WINDOW, WINDOW_ID
from windowing.engine.wids import Ints

_NODE = "node"


def indexed(
    intervals: pl.DataFrame, windows: pl.DataFrame, unit: Sequence[str]
) -> tuple[pl.DataFrame, Ints, Ints]:
    """Return the first and last window that each interval holds, as positions.

    Args:
        intervals: rows with the unit's columns, `w_first` and `w_last`.
        windows: rows with the unit's columns and `window_id`, sorted by these.
        unit: the columns of the windows' unit; may be empty.

    Returns:
        the intervals that hold any window, and their first and last positions.
    """
    intervals, of_interval, of_window = _coded(intervals, windows, unit)
    ids = windows[WINDOW_ID].to_numpy()
    known = np.unique(ids)
    places = of_window * (len(known) + 1) + np.searchsorted(known, ids)
    base = of_interval * (len(known) + 1)
    first = np.searchsorted(known, intervals[FIRST_WINDOW].to_numpy(), "left")
    last = np.searchsorted(known, intervals[LAST_WINDOW].to_numpy(), "right") - 1
    begin = np.searchsorted(places, base + first, "left")
    end = np.searchsorted(places, base + last, "right") - 1
    some = begin <= end
    return intervals.filter(pl.Series(some)), begin[some], end[some]


def _coded(
    intervals: pl.DataFrame, windows: pl.DataFrame, unit: Sequence[str]
) -> tuple[pl.DataFrame, Ints, Ints]:
    """Return units as numbers, in the order of the windows; drop intervals of other units."""
    if not unit:
        return intervals, np.zeros(len(intervals), np.int64), np.zeros(len(windows), np.int64)
    units = windows.select(unit).unique(maintain_order=True)
    units = units.with_columns(unit=pl.int_range(pl.len(), dtype=pl.Int64))
    coded = intervals.join(units, on=unit, how="inner", nulls_equal=True)
    of_window = windows.join(units, on=unit, nulls_equal=True, maintain_order="left")["unit"]
    return coded.drop("unit"), coded["unit"].to_numpy(), of_window.to_numpy()


def content(
    accumulators: Accumulators,
    partials: pl.DataFrame,
    windows: pl.DataFrame,
    unit: Sequence[str],
    by: Sequence[str],
) -> pl.DataFrame:
    """Return the merged partial states of each window and key.

    Args:
        partials: partial states with their keys, `w_first` and `w_last`; no other columns.
        windows: rows with the unit's columns and `window_id`, sorted by these.
        unit: the columns of the windows' unit; may be empty.

    Returns:
        partial states with the columns `by` and `window_id`.
    """
    partials, first, last = indexed(partials, windows, unit)
    partials = partials.drop(FIRST_WINDOW, LAST_WINDOW)
    levels = _nodes(first, last, len(windows))
    carried = partials.clear().with_columns(pl.lit(0, dtype=pl.Int64).alias(_NODE))
    for depth in range(len(levels) - 1, -1, -1):
        rows, nodes = levels[depth]
        own = partials[rows].with_columns(pl.Series(_NODE, nodes, dtype=pl.Int64))
        down = _children(carried, len(windows), len(levels), depth)
        merged = [part for part in (own, down) if len(part)]
        if merged:
            joined = accumulators.concat(merged)
            carried = accumulators.merge(joined, [*by, _NODE])
    leaves = carried[_NODE].to_numpy() - _leaf(len(levels))
    return carried.drop(_NODE).with_columns(windows[WINDOW_ID][leaves])


def _leaf(levels: int) -> int:
    """Return the first leaf of a tree with this many levels: root 1, children 2i and 2i + 1."""
    return 1 << (levels - 1)


def _nodes(first: Ints, last: Ints, count: int) -> list[tuple[Ints, Ints]]:
    """Yield per level, from the leaves up, the nodes of intervals, each with its interval.

    Args:
        first: the position of each interval's first leaf.
        last: the position of each interval's last leaf.
        count: the number of leaves.
    """
    levels = max(count - 1, 0).bit_length() + 1
    rows = np.arange(len(first))
    left, right = first + _leaf(levels), last + _leaf(levels) + 1
    found = []
    for _ in range(levels):
        from_left = (left < right) & (left % 2 == 1)
        left = left + from_left
        from_right = (left < right) & (right % 2 == 1)
        right = right - from_right
        found.append(
            (
                np.concatenate([rows[from_left], rows[from_right]]),
                np.concatenate([left[from_left] - 1, right[from_right]]),
            )
        )
        left, right = left // 2, right // 2
    return found


def _children(carried: pl.DataFrame, count: int, levels: int, depth: int) -> pl.DataFrame:
    """Push the states of one level down to the next, where there are windows below."""
    node = pl.col(_NODE)
    both = pl.concat([carried.with_columns(node * 2), carried.with_columns(node * 2 + 1)])
    first_beneath = node * (1 << depth) - _leaf(levels)
    return both.filter(first_beneath < count)
