"""The windows of many grids at once: one row of numbers per grid, one column per slice.

The arithmetic is that of `windowing.engine.wids`, for columns of grids in place of one. Times and
lengths are limited (`windowing.model.limits`), so that no result exceeds 64 bits. Which of a grid's
windows there are, if its queries join or leave, are bounds beside it: numbers of windows and what
is late for them are those of queries that run for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from windowing.engine.tuning import tuning
from windowing.engine.wids import NOTHING_YET, Flags, Grid, Ints
from windowing.engine.windows.active import ActiveWindows
from windowing.model.lengths import INT64_MAX, INT64_MIN

Numbered = tuple[Grid, ActiveWindows | None]
"""A grid, and which of its windows there are; None: all."""

FAR: Final = 7 * 2**60
"""No window begins or ends so far from zero, before it or after it."""


def within(instants: Ints) -> Ints:
    """Return instants, those beyond all windows replaced by ones that are just so."""
    return np.clip(instants, -FAR, FAR)


class Grids:
    """Grids of sliding windows.

    Args:
        numbered: at least one.

    Attributes:
        ranges, slides, origins: their clauses, as a column.
        least: the smallest value in any window of each, as a column; `-FAR`: there is none.
        begins: no window that there is holds an earlier value, as a column.
        first_there, last_there: the first window that there is, and the last, as columns.
    """

    def __init__(self, numbered: Sequence[Numbered]) -> None:
        grids = [grid for grid, _ in numbered]
        active = [one or _ALWAYS for _, one in numbered]
        self.count = len(grids)
        self.ranges = _column([grid.range_ or 0 for grid in grids])
        self.slides = _column([grid.slide for grid in grids])
        self.origins = _column([grid.origin for grid in grids])
        self.least = _column([-FAR if grid.least is None else grid.least for grid in grids])
        self.begins = _column([one.begins for one in active])
        self.first_there = _column([one.first for one in active])
        self.last_there = _column([one.last for one in active])

    def some(self, chosen: Ints | slice) -> Grids:
        """Return some of them."""
        found = Grids.__new__(Grids)
        for name in _COLUMNS:
            setattr(found, name, getattr(self, name)[chosen])
        found.count = len(found.slides)
        return found

    def where(self, chosen: Sequence[bool]) -> Grids:
        """Return the same grids; those that are not chosen have no windows."""
        found, flags = self.some(slice(None)), np.array(chosen).reshape(-1, 1)
        found.begins = np.where(flags, self.begins, INT64_MAX)
        found.last_there = np.where(flags, self.last_there, INT64_MIN)
        return found

    def first(self, slices: Ints) -> Ints:
        """Return the first window of each grid that holds each slice."""
        first = self.open_from(slices)
        return np.where(self.least > -FAR, np.maximum(first, 0), first)

    def last(self, slices: Ints) -> Ints:
        """Return the last window of each grid that holds each slice."""
        return (slices - self.origins + self.ranges) // self.slides - 1

    def open_from(self, instants: Ints) -> Ints:
        """Return the first window of each grid that ends after each instant."""
        return (instants - self.origins) // self.slides

    def ends(self, windows: Ints) -> Ints:
        """Return the end of each window."""
        return self.origins + (windows + 1) * self.slides

    def bounds(self, windows: Ints) -> tuple[Ints, Ints]:
        """Return start and end of a window of each grid."""
        ends = self.ends(windows.reshape(-1, 1))[:, 0]
        least = np.maximum(self.least, self.begins)[:, 0]
        return np.maximum(ends - self.ranges[:, 0], least), ends

    def are_outside(self, slices: Ints) -> Flags:
        """Return which slices are in no window of each grid, if none ended too late."""
        return (slices < np.maximum(self.least, self.begins)) | (
            self.last(slices) < np.maximum(self.first(slices), self.first_there)
        )

    @property
    def sift(self) -> bool:
        """Whether any of them has gaps between its windows, or begins or ends somewhere."""
        begin = np.maximum(self.least, self.begins) > -FAR
        gaps, end = self.slides > self.ranges, self.last_there < _ALWAYS.last
        return bool(gaps.any() or begin.any() or end.any())

    def slabs(self, slices: int) -> list[slice]:
        """Cut a number of slices so that a table of grids and slices fits into memory."""
        width = max(tuning().grid_cells_max // self.count, 1)
        return [slice(start, start + width) for start in range(0, slices, width)]


_COLUMNS: Final = (
    "ranges",
    "slides",
    "origins",
    "least",
    "begins",
    "first_there",
    "last_there",
)
_ALWAYS: Final = ActiveWindows(INT64_MIN, INT64_MAX, NOTHING_YET)


@dataclass(frozen=True)
class Reach:
    """How far windows reach behind slices; of many grids, only those that may reach furthest.

    Attributes:
        grids: the ones that do, of each slide, phase and least value, and those of queries that
            join or leave.
    """

    grids: Grids

    @classmethod
    def of(cls, numbered: Sequence[Numbered]) -> Reach:
        """Keep the longest of those alike whose windows are all there, and all others."""
        longest: dict[object, Grid] = {}
        for grid, active in numbered:
            phase = (grid.slide, grid.origin % grid.slide, grid.least)
            known = longest.get(phase)
            if active is None and (known is None or (grid.range_ or 0) > (known.range_ or 0)):
                longest[phase] = grid
        always = [(grid, None) for grid in longest.values()]
        return cls(Grids([*always, *(one for one in numbered if one[1] is not None)]))

    def until(self, slices: Ints) -> Ints:
        """Return the end of the last window that holds each slice; `NOTHING_YET`: none does."""
        grids, parts = self.grids, [np.zeros(0, np.int64)]
        for slab in grids.slabs(len(slices)):
            some = slices[slab]
            last = np.minimum(grids.last(some), grids.last_there)
            ended = last < np.maximum(grids.first(some), grids.first_there)
            none = ended | grids.are_outside(some)
            ends = grids.ends(np.where(none, 0, last))
            parts.append(np.where(none, NOTHING_YET, ends).max(axis=0))
        return np.concatenate(parts)


def _column(values: Sequence[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64).reshape(-1, 1)
