"""Where the windows of many grids begin and end: the slices between them.

Boundaries lie one slide apart, at a phase: one set of them for the ends of a grid and one for its
starts. A set whose slide is a multiple of another one's, at the same phase, adds nothing; so few
sets remain of many, as few roots remain of a sliding graph.

Source: Salehi et al., "Knowing when to slide", section 4 (roots); Li et al., "No pane, no gain",
SIGMOD Record 2005 (slices); sets of boundaries are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import gcd

import numpy as np

from windowing.engine.families.grids import within
from windowing.engine.tuning import tuning
from windowing.engine.wids import Grid, Ints

Series = tuple[int, int]
"""A slide and a phase: boundaries at all instants of this phase."""


class Boundaries:
    """Sets of boundaries.

    Args:
        series: slides and phases; at least one.

    Attributes:
        series: those that are left.
    """

    def __init__(self, series: Iterable[Series]) -> None:
        self.series = reduced(series)

    @classmethod
    def of_windows(cls, grids: Iterable[Grid]) -> Boundaries:
        """Return the boundaries of windows."""
        return cls(one for grid in grids for one in (_ends(grid), _starts(grid)))

    @classmethod
    def limited(cls, grids: Sequence[Grid]) -> Boundaries:
        """Return the boundaries of windows, and more of them if they are too many sets."""
        own = cls.of_windows(grids)
        return own.levelled() if own.are_many else own

    @classmethod
    def of_ends(cls, grids: Iterable[Grid]) -> Boundaries:
        """Return the ends of windows."""
        return cls(map(_ends, grids))

    @property
    def are_many(self) -> bool:
        """Whether they are more sets than a family may have."""
        return len(self.series) > tuning().boundary_sets_max

    def hold(self, grid: Grid) -> bool:
        """Return whether all windows of a grid begin and end at some of these."""
        return self._include(_starts(grid)) and self.hold_ends(grid)

    def hold_ends(self, grid: Grid) -> bool:
        """Return whether all windows of a grid end at some of these."""
        return self._include(_ends(grid))

    def has(self, instant: int) -> bool:
        """Return whether an instant is one of these."""
        return any((instant - phase) % slide == 0 for slide, phase in self.series)

    def _include(self, one: Series) -> bool:
        return any(
            one[0] % slide == 0 and one[1] % slide == phase % slide for slide, phase in self.series
        )

    def before(self, values: Ints) -> Ints:
        """Return the last boundary at each value or before it."""
        found = np.full(len(values), np.iinfo(np.int64).min)
        values = within(values)
        for slide, phase in self.series:
            np.maximum(found, values - (values - phase) % slide, out=found)
        return found

    def after(self, values: Ints) -> Ints:
        """Return the first boundary after each value."""
        found = np.full(len(values), np.iinfo(np.int64).max)
        values = within(values)
        for slide, phase in self.series:
            np.minimum(found, values - (values - phase) % slide + slide, out=found)
        return found

    @property
    def density(self) -> Fraction:
        """How many there are in a unit of time, counting those of several sets each time."""
        return sum((Fraction(1, slide) for slide, _ in self.series), Fraction(0))

    def levelled(self) -> Boundaries:
        """Return the fewest equidistant boundaries that include all of these."""
        first = self.series[0][1]
        steps = [slide for slide, _ in self.series]
        step = reduce(gcd, [*steps, *(phase - first for _, phase in self.series)])
        return Boundaries([(step, first % step)])


def reduced(series: Iterable[Series]) -> tuple[Series, ...]:
    """Leave out sets of boundaries that others include."""
    ascending = sorted(set(series))
    slides, phases = (np.array(part, dtype=np.int64) for part in zip(*ascending, strict=True))
    left = np.ones(len(ascending), dtype=bool)
    for place, (slide, phase) in enumerate(ascending):
        if left[place]:
            later = slice(place + 1, None)
            left[later] &= (slides[later] % slide != 0) | (phases[later] % slide != phase)
    return tuple(one for one, stays in zip(ascending, left, strict=True) if stays)


def _ends(grid: Grid) -> Series:
    return grid.slide, grid.origin % grid.slide


def _starts(grid: Grid) -> Series:
    return grid.slide, (grid.origin - (grid.range_ or 0)) % grid.slide
