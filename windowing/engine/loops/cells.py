"""Merging numbers into cells, cumulating them over blocks of cells, and listing what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windowing.engine.loops.compiled import compiled, inlined

SUM, LEAST, MOST = range(3)
"""How numbers are merged: added, or the smallest or largest of them."""

Ints = NDArray[np.int64]
Numbers = NDArray[Any]
Pair = tuple[Ints, Ints]
Listed = tuple[Ints, Ints, Ints]
Runs = tuple[Ints, Ints, Ints, Ints]
"""Which number each run of cells has, the cell that its block begins with, and its first and last
cell from there: it begins where its block begins, or else ends where that ends."""


@compiled
def cumulate(values: Numbers, runs: Runs, how: int, length: int, cells: Numbers) -> None:
    """Merge numbers into all cells of their runs.

    One that begins where its block begins is put into its last cell, and each cell then takes all
    that is behind it in its block; of the others each is put into its first, and a cell takes all
    that is before it.

    Args:
        runs: where they count.
        how: they are merged.
        length: of a block, in cells.
        cells: to be filled; holds everywhere the number that merging does not change.
    """
    onwards = cells.copy()
    rest = cells[:1].copy()
    _scatter(values, runs, how, cells, onwards)
    for begin in range(0, len(cells), length):
        for place in range(begin + length - 2, begin - 1, -1):
            cells[place] = _merged(cells[place], cells[place + 1], how)
        before = rest[0]
        for place in range(begin, begin + length):
            before = _merged(before, onwards[place], how)
            cells[place] = _merged(cells[place], before, how)


@compiled
def list_held(
    held: Pair, members: Pair, numbers: Pair, none: int, found: Listed, ends: Ints
) -> int:
    """List the first and the last number of each member of a group, for cells of the group.

    Return how many were found.

    Args:
        held: of each cell, its group, and its place among the cells of that.
        members: of all groups, in their order, and where those of each group begin and the last
            one's end.
        numbers: the first and the last number in the cells of the members.
        none: what the last is where a member has none.
        found: to be filled with the member and its two numbers; long enough.
        ends: to be filled with where those of each cell end.
    """
    (groups, places), (order, bounds), (first, last) = held, members, numbers
    listed, firsts, lasts = found
    size, count = len(last) // len(order), 0
    for row in range(len(groups)):
        group, place = groups[row], places[row]
        for at in range(bounds[group], bounds[group + 1]):
            cell = order[at] * size + place
            if last[cell] != none:
                listed[count], firsts[count], lasts[count] = order[at], first[cell], last[cell]
                count += 1
        ends[row] = count
    return count


@inlined
def _scatter(values: Numbers, runs: Runs, how: int, back: Numbers, onwards: Numbers) -> None:
    chosen, begins, firsts, lasts = runs
    for run in range(len(chosen)):
        value = values[chosen[run]]
        if firsts[run] == 0:
            cell = begins[run] + lasts[run]
            back[cell] = _merged(back[cell], value, how)
        else:
            cell = begins[run] + firsts[run]
            onwards[cell] = _merged(onwards[cell], value, how)


@inlined
def _merged(one: Any, other: Any, how: int) -> Any:
    if how == SUM:
        return one + other
    if how == LEAST:
        return min(one, other)
    return max(one, other)
