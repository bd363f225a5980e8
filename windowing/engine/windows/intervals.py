"""What windows hold, where partial states hold for whole intervals of windows.

A partial state counts in the windows `w_first` to `w_last`. With the windows in a row, a tree over
them of two children each takes any interval apart into O(log n) nodes; states are merged node by
node, and handed down to the windows beneath. So m states and n windows cost O((m + n) log n)
merges, whatever the length of the intervals, and no merge has to be undone: it suffices that
merging is commutative and associative.

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
    """The first and last of some windows that each interval holds, as positions.

    Args:
        intervals: with the unit's columns, `w_first` and `w_last`.
        windows: with the unit's columns and `window_id`, sorted by these.
        unit: the columns that name what the windows are of; may be none.

    Returns:
        the intervals that hold any window, and their first and last positions among the windows.
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
    """Units as numbers, in the order of the windows; intervals of other units are left out."""
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
    """The merged partial states of each window, for each key that it holds anything of.

    Args:
        accumulators: merge the states.
        partials: partial states with their keys, `w_first` and `w_last`; no further columns.
        windows: with the unit's columns and `window_id`, sorted by these.
        unit: the columns that name what the windows are of; may be none.
        by: the columns whose values are kept apart.

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
    """The number of the first leaf in a tree of so many levels: root 1, children 2i and 2i + 1."""
    return 1 << (levels - 1)


def _nodes(first: Ints, last: Ints, count: int) -> list[tuple[Ints, Ints]]:
    """Per level from the leaves up, the nodes that intervals are made of, each with its interval.

    Args:
        first: of each interval, the position of its first leaf.
        last: of each interval, the position of its last leaf.
        count: how many leaves there are.
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
    """The states of one level handed down to the next, as far as there are windows beneath."""
    node = pl.col(_NODE)
    both = pl.concat([carried.with_columns(node * 2), carried.with_columns(node * 2 + 1)])
    first_beneath = node * (1 << depth) - _leaf(levels)
    return both.filter(first_beneath < count)
