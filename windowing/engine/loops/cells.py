"""Merging numbers into cells, and cumulating them over blocks of cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windowing.engine.loops.compiled import compiled, inlined

SUM, LEAST, MOST = range(3)
"""How numbers are merged: added, or the smallest or largest of them."""

Ints = NDArray[np.int64]
Numbers = NDArray[Any]
Places = tuple[Ints, Ints]
"""Which of some numbers go into which cells."""


@compiled
def cumulate(
    values: Numbers, back: Places, front: Places, how: int, length: int, cells: Numbers
) -> None:
    """Merge into each cell what is in it or behind it in its block, and what is there before it.

    Args:
        values: the numbers.
        back: those that count in all cells of a block up to theirs.
        front: those that count in all cells of a block from theirs on.
        how: they are merged.
        length: of a block, in cells.
        cells: to be filled; holds everywhere the number that merging does not change.
    """
    onwards = cells.copy()
    rest = cells[:1].copy()
    _scatter(values, back, how, cells)
    _scatter(values, front, how, onwards)
    for begin in range(0, len(cells), length):
        for place in range(begin + length - 2, begin - 1, -1):
            cells[place] = _merged(cells[place], cells[place + 1], how)
        before = rest[0]
        for place in range(begin, begin + length):
            before = _merged(before, onwards[place], how)
            cells[place] = _merged(cells[place], before, how)


@inlined
def _scatter(values: Numbers, places: Places, how: int, cells: Numbers) -> None:
    chosen, cell_of = places
    for number in range(len(chosen)):
        cell = cell_of[number]
        cells[cell] = _merged(cells[cell], values[chosen[number]], how)


@inlined
def _merged(one: Any, other: Any, how: int) -> Any:
    if how == SUM:
        return one + other
    if how == LEAST:
        return min(one, other)
    return max(one, other)
