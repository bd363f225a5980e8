"""Which of a query's windows there are, if it joins its stream or leaves it: bounds of numbers.

Records are late for windows, and released to them, as if the query ran for ever; the bounds are
applied afterwards. So a slice at the edge is that of such a query, clipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from windowing.engine.columns import FIRST_WINDOW, LAST_WINDOW
from windowing.engine.wids import NOTHING_YET, Flags, Ints, Numbering, grid
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.source import Source
from windowing.model.windows.window import Window


@dataclass(frozen=True)
class ActiveWindows:
    """The windows of a query's activity.

    Attributes:
        first, last: their numbers, inclusive.
        begins: no window holds a smaller value.
    """

    first: int
    last: int
    begins: int

    @classmethod
    def of(cls, window: Window, numbers: Numbering | None = None) -> Self | None:
        """Return the windows of a query's activity; None: it is always active.

        Args:
            numbers: the windows' numbering; None: that of the window language.
        """
        if window.active is None:
            return None
        numbers, active = numbers or grid(window), window.active
        first, last, begins = INT64_MIN, INT64_MAX, NOTHING_YET
        if active.begins_us is not None:
            begins = active.begins_us
            first = _first(numbers, begins, whole=active.warmup == "skip")
        if active.until_us is not None:
            last = _last(numbers, active.until_us)
        return cls(first, last, begins)

    def before(self, values: Ints) -> Flags:
        """Return which values are in no window because they lie before the activity."""
        return values < self.begins

    def from_first(self, first: Ints) -> Ints:
        """Return the first window that is there, for records whose first window is given."""
        return np.maximum(first, self.first)

    def shown(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Return partial states without windows before the first one, or after the last.

        Those before it come from chunks that were scanned apart and not settled.
        """
        first = pl.max_horizontal(FIRST_WINDOW, pl.lit(self.first, dtype=pl.Int64))
        last = pl.min_horizontal(LAST_WINDOW, pl.lit(self.last, dtype=pl.Int64))
        clipped = partials.with_columns(first.alias(FIRST_WINDOW), last.alias(LAST_WINDOW))
        return clipped.filter(pl.col(FIRST_WINDOW) <= pl.col(LAST_WINDOW))


@dataclass(frozen=True)
class ActiveLanes:
    """In which lanes, and from which record on, a query joins and leaves.

    Attributes:
        joins_at: by lane number, the offset behind which it is there.
        leaves_at: by lane number, the offset behind which its last window matters.
        lasts: by lane number, that window; it is the query's, or one after it.
    """

    joins_at: dict[int, int]
    leaves_at: dict[int, int]
    lasts: dict[int, int]

    @classmethod
    def of(cls, window: Window, source: Source, numbers: Numbering | None = None) -> Self | None:
        """Return the lanes of a query's activity; None: it is always active.

        Args:
            numbers: as in `ActiveWindows.of`.
        """
        if window.active is None:
            return None
        numbers = numbers or grid(window)
        lanes, active = [(n, source.lane(n)) for n in range(source.partitions)], window.active
        joins = {number: active.joins_at(lane) for number, lane in lanes}
        leaves = {number: active.leaves_at(lane) for number, lane in lanes}
        return cls(
            {number: offset for number, offset in joins.items() if offset is not None},
            {number: offset for number, offset in leaves.items() if offset is not None},
            {
                number: _last(numbers, until_us)
                for number, lane in lanes
                if (until_us := active.until_in(lane)) is not None
            },
        )

    def absent(self, partition: int, offsets: Ints) -> Flags:
        """Return which records of a lane come before the query has joined there."""
        joins_at = self.joins_at.get(partition)
        return offsets <= (INT64_MAX if joins_at is None else joins_at)

    def last(self, partition: int, offsets: Ints, last: Ints) -> Ints:
        """Return the last windows of records of a lane, as the lane knows the activity."""
        leaves_at = self.leaves_at.get(partition)
        if leaves_at is None:
            return last
        # Without an end, no window is the last one.
        known = self.lasts.get(partition, INT64_MAX)
        return np.where(offsets > leaves_at, np.minimum(last, known), last)


def _last(numbers: Numbering, until_us: int) -> int:
    """Return the last window that ends by an instant."""
    return int(numbers.ended_by(np.array([until_us]))[0])


def _first(numbers: Numbering, begins: int, *, whole: bool) -> int:
    """Return the first window that ends after an instant, or that also begins from it on."""
    if not whole:
        return int(numbers.open_from(np.array([begins]))[0])
    # The one after the last that holds an earlier instant.
    before = np.array([begins - 1])
    return INT64_MIN if numbers.outside(before)[0] else int(numbers.last(before)[0]) + 1
