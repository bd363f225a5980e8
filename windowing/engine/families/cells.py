"""What becomes of records of a slice, in each of many grids: on time, waiting, refused or outside.

A *cell* is what distinguishes records of a family: their slice, and if they are late for some
window, from which window end on they count (`open`), and for late epochs, from which on windows may
still change (`kept`). A window takes them on time if it ends at `open` or later, and late if it
ends before that, and at `kept` or later.

Source: Li et al., SIGMOD 2005, section 5; first windows that accept, as instants: ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from windowing.engine.families.family import QueriesInLane
from windowing.engine.families.grids import Grids
from windowing.engine.wids import Flags, Ints
from windowing.model.emission import Late


@dataclass(frozen=True)
class Cells:
    """Cells, as columns.

    Attributes:
        at: the beginning of each slice.
        end: the first window end after it.
        open: no window that ends before takes these records on time; `end` or later.
        kept: no window that ends before takes them at all; `end` to `open`.
    """

    at: Ints
    end: Ints
    open: Ints
    kept: Ints

    def __len__(self) -> int:
        return len(self.at)

    @property
    def late(self) -> Flags:
        """Which are late for some window that they might be in."""
        return self.open > self.end

    def where(self, chosen: Flags | slice) -> Cells:
        """Return some of them."""
        return Cells(self.at[chosen], self.end[chosen], self.open[chosen], self.kept[chosen])


@dataclass(frozen=True)
class Spans:
    """Which windows cells count in, a row for each grid; empty where the last is below the first.

    Attributes:
        inside: whether a grid has any window there.
        earliest: the first window there, which may not take them.
        first, last: the windows that take them on time.
        first_late, last_late: those that take them late.
    """

    inside: Flags
    earliest: Ints
    first: Ints
    last: Ints
    first_late: Ints
    last_late: Ints

    @classmethod
    def of(cls, grids: Grids, cells: Cells, late: Late) -> Spans:
        """Find the windows of cells, also those that would end behind the last of a grid.

        Args:
            cells: from records of a lane.
        """
        inside = ~grids.are_outside(cells.at)
        first, last = grids.first(cells.at), grids.last(cells.at)
        opened = np.maximum(first, grids.open_from(cells.open - 1))
        if late.mode == "consistent":
            opened = np.where(opened > first, last + 1, first)
        last_late = np.minimum(last, opened - 1)
        first_late = last_late + 1
        if late.policy == "update":
            first_late = np.maximum(first, grids.open_from(cells.kept - 1))
        # What is late does not depend on which windows there are.
        earliest, opened, first_late = (
            np.maximum(one, grids.first_there) for one in (first, opened, first_late)
        )
        return cls(inside, earliest, opened, last, first_late, last_late)

    def until(self, last_there: Ints) -> Spans:
        """Return the spans without windows behind the last of each grid."""
        last, last_late = (np.minimum(one, last_there) for one in (self.last, self.last_late))
        inside = self.inside & (self.earliest <= last)
        return Spans(inside, self.earliest, self.first, last, self.first_late, last_late)

    @property
    def on_time(self) -> Flags:
        """Which cells count on time."""
        return self.inside & (self.first <= self.last)

    @property
    def waiting(self) -> Flags:
        """Which cells count late."""
        return self.inside & (self.first_late <= self.last_late)

    @property
    def taken(self) -> Flags:
        """Which cells count at all."""
        return self.on_time | self.waiting


@dataclass(frozen=True)
class Verdicts:
    """What becomes of the records of a chunk in each of many grids.

    Attributes:
        outside, refused: numbers of records, by grid.
        wanted: which cells any grid takes, whenever its queries leave.
        refuses: for each grid that refuses any, which cells.
    """

    outside: Ints
    refused: Ints
    wanted: Flags
    refuses: dict[int, Flags]

    @classmethod
    def of(cls, lane: QueriesInLane, cells: Cells, known: Ints, counts: Ints, late: Late) -> Self:
        """Judge cells.

        Args:
            lane: what the lane knows of the queries.
            cells: of a chunk.
            known: how many of the lane's changes each of them is behind.
            counts: the number of records in each.
        """
        zeros = np.zeros(lane.grids.count, np.int64)
        found = cls(zeros, zeros.copy(), np.ones(len(cells), dtype=bool), {})
        if not cells.late.any() and not lane.grids.sift:
            return found
        for part in lane.grids.slabs(len(cells)):
            spans = Spans.of(lane.grids, cells.where(part), late)
            found.wanted[part] = spans.taken.any(axis=0)
            if not lane.endless:
                # What is kept does not depend on when the lane knew that a query leaves.
                found.wanted[part] &= spans.until(lane.grids.last_there).inside.any(axis=0)
                spans = spans.until(lane.lasts[:, known[part]])
            found._judge(spans, counts[part], part)
        return found

    def _judge(self, spans: Spans, counts: Ints, part: slice) -> None:
        refused = spans.inside & ~spans.taken
        self.outside[:] += _weighed(~spans.inside, counts)
        self.refused[:] += _weighed(refused, counts)
        for number in np.flatnonzero(refused.any(axis=1)).tolist():
            own = self.refuses.setdefault(number, np.zeros(len(self.wanted), dtype=bool))
            own[part] = refused[number]


def _weighed(flags: NDArray[np.bool_], counts: Ints) -> Ints:
    found: Ints = flags @ counts
    return found
