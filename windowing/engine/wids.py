"""Which windows a record enters: the arithmetic of window ids, a column at a time.

Window w of `RANGE R SLIDE S ORIGIN m` is [max(m, m + (w+1)S - R), m + (w+1)S), w = 0, 1, …; with
`ALIGN start` it is [m + wS, m + wS + R), w any integer, over rows 0, 1, ….
All divisions round down, also below zero; no step leaves 64 bits for any event time.

Source: Li et al., SIGMOD 2005, section 4; wids of sliding windows, ends aligned to the origin.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.windows.window import ROW_NUM, Window

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Progress before anything was heard, and after a lane's end. No legal instant is taken for either:
# a bound of exactly these values says the same thing.
NOTHING_YET = INT64_MIN
ENDED = INT64_MAX

# The release of a record that was not late.
ON_TIME = INT64_MIN


# The last window of a record that no later window loses again.
FOR_EVER = INT64_MAX - 1


class Numbering(ABC):
    """Windows that the value of a record names: which it lies in, and where they end.

    Numbers grow with values, and ends with numbers. Values and numbers come a column at a time; any
    64-bit integer may come, and no answer leaves 64 bits.
    """

    @abstractmethod
    def open_from(self, instants: Ints) -> Ints:
        """Give the first window that has not ended by each instant."""

    @abstractmethod
    def last(self, values: Ints) -> Ints:
        """Give the last window whose extent holds each value; if below `first`, there is none."""

    @abstractmethod
    def ends(self, windows: Ints) -> Ints:
        """Give the end of each window, at most `ENDED` for windows that end beyond 64 bits."""

    @abstractmethod
    def bounds(self, wid: int) -> tuple[int, int]:
        """Give start and end of one window, as rows show them."""

    def first(self, values: Ints) -> Ints:
        """Give the first window whose extent may hold each value."""
        return self.open_from(values)

    def outside(self, values: Ints) -> Flags:
        """Say which values lie before all windows."""
        return np.zeros(len(values), dtype=bool)

    def ended_by(self, progress: Ints) -> Ints:
        """Give the last window that has ended when progress stands at an instant: `end(w) <= P`."""
        return np.where(progress == ENDED, ENDED, self.open_from(progress) - 1)


@dataclass(frozen=True)
class Grid(Numbering):
    """Ends that lie one slide apart: what all arithmetic here is about.

    Attributes:
        range_: length of an extent; None: all begin at the origin.
        slide: distance of two ends.
        origin: window 0 ends a slide behind it.
        least: the smallest value in any window, of which window 0 is the first; None: there are
            windows everywhere.
    """

    range_: int | None
    slide: int
    origin: int
    least: int | None = None

    def open_from(self, instants: Ints) -> Ints:
        """Give the first window that has not ended by each instant."""
        return slide_of(self, instants)

    def first(self, values: Ints) -> Ints:
        """Give the first window whose extent may hold each value."""
        first = slide_of(self, values)
        return first if self.least is None else np.maximum(first, 0)

    def last(self, values: Ints) -> Ints:
        """Give the last window whose extent holds each value."""
        return last_window(self, values)

    def ends(self, windows: Ints) -> Ints:
        """Give the end of each window, at most `ENDED`."""
        return end_us(self, windows)

    def outside(self, values: Ints) -> Flags:
        """Say which values lie before all windows."""
        return super().outside(values) if self.least is None else values < self.least

    def bounds(self, wid: int) -> tuple[int, int]:
        """Give start and end of one window; half-open, the start clipped to the least value."""
        end = self.origin + (wid + 1) * self.slide
        start = self.origin if self.range_ is None else end - self.range_
        return start if self.least is None else max(self.least, start), end


class Positions(Grid):
    """The windows that there may be at positions of records, each of which closes right behind."""

    def bounds(self, wid: int) -> tuple[int, int]:
        """Give start, which is open, and end of one window, which is closed and its id."""
        return wid - _range(self), wid


class Gridded(Protocol):
    """A grid, or a window whose clauses are one."""

    @property
    def range_(self) -> int | None:
        """The length of an extent."""

    @property
    def slide(self) -> int:
        """The distance of two ends."""

    @property
    def origin(self) -> int:
        """Where window 0 begins to count."""


def grid(window: Window) -> Grid:
    """The grid whose window ids are those of a class.

    A record of attribute a that may be in the windows of other records is in those of all positions
    a <= w < a + R, which close at w + 1: as in windows of range R that slide by 1.
    """
    if window.traits.at_records:
        return Positions(window.range_, slide=1, origin=0)
    if window.align == "start" and window.range_ is not None:
        # Starts at m + kS are ends at m + kS + R: the same grid from another origin. Windows of
        # rows begin with the first row; it is by their ends that some would begin before.
        origin = window.origin + window.range_ - window.slide
        least = 0 if window.attribute == ROW_NUM else None
        return Grid(window.range_, window.slide, origin, least)
    return Grid(window.range_, window.slide, window.origin, window.origin)


def slide_of(window: Gridded, ts_us: Ints) -> Ints:
    """The slide of each time, `(ts - m) div S`; it is also the first window not ended by then."""
    slide, origin = window.slide, window.origin
    shift = origin // slide
    # With a slide of 1 us the difference could leave 64 bits; so far out no window is near.
    lowest, highest = INT64_MIN + max(shift + 1, 0), INT64_MAX + min(shift, 0)
    quotient = np.clip(ts_us // slide, lowest, highest) - shift
    return quotient + (ts_us % slide - origin % slide) // slide


def last_window(window: Gridded, ts_us: Ints) -> Ints:
    """The last window whose extent holds each time, `(ts - m + R) div S - 1`."""
    if window.range_ is None:
        return np.full(len(ts_us), FOR_EVER)
    within = (ts_us % window.slide - window.origin % window.slide) % window.slide
    slides, after = slide_of(window, ts_us), (within + _range(window)) // window.slide - 1
    return np.where(slides > INT64_MAX - np.maximum(after, 0), INT64_MAX, slides + after)


def end_us(window: Gridded, wids: Ints) -> Ints:
    """The end of each window, at most `ENDED` for windows that end beyond 64 bits."""
    beyond = wids >= (INT64_MAX - window.origin) // window.slide
    return np.where(beyond, ENDED, window.origin + (np.where(beyond, 0, wids) + 1) * window.slide)


def bounds_of(window: Window, wid: int) -> tuple[int, int]:
    """Start and end of one window of the window language."""
    return grid(window).bounds(wid)


def lowered(instant_us: Ints, by_us: int) -> Ints:
    """`instant - by`, never below the smallest 64-bit integer."""
    lowest = INT64_MIN + by_us
    return np.where(instant_us < lowest, np.int64(INT64_MIN), instant_us - np.int64(by_us))


def release_us(instant_us: Ints, epoch_us: int) -> Ints:
    """The first epoch boundary after each instant, `(x div T + 1)·T`, at most `ENDED`."""
    epoch = instant_us // epoch_us
    beyond = epoch >= INT64_MAX // epoch_us
    return np.where(beyond, ENDED, (np.where(beyond, 0, epoch) + 1) * epoch_us)


def _range(window: Gridded) -> int:
    assert window.range_ is not None  # noqa: S101 - landmark windows were dealt with
    return window.range_
