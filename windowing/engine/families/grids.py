"""The windows of many grids at once: one row of numbers per grid, one column per slice.

The arithmetic is that of `windowing.engine.wids`, for columns of grids in place of one. Times and
lengths are limited (`windowing.model.limits`), so that no result exceeds 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from windowing.engine.wids import Flags, Grid, Ints

FAR: Final = 7 * 2**60
"""No window begins or ends so far from zero, before it or after it."""

_CELLS_MAX: Final = 1 << 21


def within(instants: Ints) -> Ints:
    """Return instants, those beyond all windows replaced by ones that are just so."""
    return np.clip(instants, -FAR, FAR)


class Grids:
    """Grids of sliding windows.

    Args:
        grids: at least one.

    Attributes:
        count: how many there are.
        ranges, slides, origins: their clauses, as a column.
        least: the smallest value in any window of each, as a column; `-FAR`: there is none.
    """

    def __init__(self, grids: Sequence[Grid]) -> None:
        self.count = len(grids)
        self.ranges = _column([grid.range_ or 0 for grid in grids])
        self.slides = _column([grid.slide for grid in grids])
        self.origins = _column([grid.origin for grid in grids])
        self.least = _column([-FAR if grid.least is None else grid.least for grid in grids])

    def some(self, chosen: Ints | slice) -> Grids:
        """Return some of them."""
        found = Grids.__new__(Grids)
        for name in ("ranges", "slides", "origins", "least"):
            setattr(found, name, getattr(self, name)[chosen])
        found.count = len(found.slides)
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

    def are_outside(self, slices: Ints) -> Flags:
        """Return which slices are in no window of each grid."""
        return (slices < self.least) | (self.last(slices) < self.first(slices))

    @property
    def sift(self) -> bool:
        """Whether any of them has gaps between its windows, or begins somewhere."""
        return bool((self.slides > self.ranges).any() or (self.least > -FAR).any())

    def slabs(self, slices: int) -> list[slice]:
        """Cut a number of slices so that a table of grids and slices fits into memory."""
        width = max(_CELLS_MAX // self.count, 1)
        return [slice(start, start + width) for start in range(0, slices, width)]


@dataclass(frozen=True)
class Reach:
    """How far windows reach behind slices; of many grids, only those that reach furthest.

    Attributes:
        grids: the ones that do, of each slide and phase.
    """

    grids: Grids

    @classmethod
    def of(cls, grids: Sequence[Grid]) -> Reach:
        """Keep the longest of each slide and phase."""
        longest: dict[tuple[int, int], Grid] = {}
        for grid in grids:
            phase = (grid.slide, grid.origin % grid.slide)
            known = longest.get(phase)
            if known is None or (grid.range_ or 0) > (known.range_ or 0):
                longest[phase] = grid
        return cls(Grids(list(longest.values())))

    def until(self, slices: Ints) -> Ints:
        """Return the end of the last window that holds each slice."""
        grids = self.grids
        parts = [
            grids.ends(grids.last(slices[part])).max(axis=0) for part in grids.slabs(len(slices))
        ]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _column(values: Sequence[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64).reshape(-1, 1)
