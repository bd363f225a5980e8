"""Which windows a record enters: the arithmetic of window ids, a column at a time.

Window w of `RANGE R SLIDE S ORIGIN m` is [max(m, m + (w+1)S - R), m + (w+1)S), w = 0, 1, …; with
`ALIGN start` it is [m + wS, m + wS + R), w any integer, over rows 0, 1, ….
All divisions round down, also below zero; no step exceeds 64 bits for any event time.

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

# Progress before any bound, and after a lane's end. Neither collides with a legal instant: a bound
# of exactly these values means the same.
NOTHING_YET = INT64_MIN
ENDED = INT64_MAX

# The release of an on-time record.
ON_TIME = INT64_MIN


# The last window of a record that stays in all later windows.
FOR_EVER = INT64_MAX - 1


class Numbering(ABC):
    """The windows that follow from a record's value: which contain it, and where they end.

    Numbers increase with values, and ends with numbers. Arguments are columns of any 64-bit
    integers; no result exceeds 64 bits.
    """

    @abstractmethod
    def open_from(self, instants: Ints) -> Ints:
        """Return the first window that has not ended by each instant."""

    @abstractmethod
    def last(self, values: Ints) -> Ints:
        """Return the last window whose extent holds each value; if below `first`, there is none."""

    @abstractmethod
    def ends(self, windows: Ints) -> Ints:
        """Return the end of each window; `ENDED` for ends beyond 64 bits."""

    def first_end(self, windows: Ints) -> int:
        """Return the earliest end of some windows; `ENDED` of none."""
        return int(self.ends(windows.min(keepdims=True))[0]) if len(windows) else ENDED

    @abstractmethod
    def bounds(self, wid: int) -> tuple[int, int]:
        """Return start and end of one window, as rows show them."""

    def first(self, values: Ints) -> Ints:
        """Return the first window whose extent may hold each value."""
        return self.open_from(values)

    def span(self, values: Ints) -> tuple[Ints, Ints]:
        """Return `first` and `last` of each value."""
        return self.first(values), self.last(values)

    def outside(self, values: Ints) -> Flags:
        """Return which values lie before all windows."""
        return np.zeros(len(values), dtype=bool)

    def after(self, windows: Ints, count: int) -> Ints:
        """Return the window that comes `count` windows after each, at most the largest number."""
        return _further(windows, count)

    def exist(self, windows: Ints) -> Flags:
        """Return which numbers windows have; others are holes between those of windows."""
        return np.ones(len(windows), dtype=bool)

    def ended_by(self, progress: Ints) -> Ints:
        """Return the last window that has ended at a progress: `end(w) <= P`."""
        return np.where(progress == ENDED, ENDED, self.open_from(progress) - 1)


@dataclass(frozen=True)
class Grid(Numbering):
    """Windows with ends one slide apart: the basis of all arithmetic here.

    Attributes:
        range_: length of an extent; None: all begin at the origin.
        slide: distance between consecutive ends.
        origin: window 0 ends one slide after it.
        least: the smallest value in any window, where window 0 is the first; None: windows are
            everywhere.
        begins: where windows begin at the earliest, whatever their number; None: anywhere.
    """

    range_: int | None
    slide: int
    origin: int
    least: int | None = None
    begins: int | None = None

    def open_from(self, instants: Ints) -> Ints:
        """Return the first window that has not ended by each instant."""
        return slide_of(self, instants)

    def first(self, values: Ints) -> Ints:
        """Return the first window whose extent may hold each value."""
        return self._from_least(slide_of(self, values))

    def last(self, values: Ints) -> Ints:
        """Return the last window whose extent holds each value."""
        return last_window(self, values)

    def span(self, values: Ints) -> tuple[Ints, Ints]:
        """Return `first` and `last` of each value; they are divided by the slide only once."""
        if self.range_ is None or self.range_ % self.slide:
            return super().span(values)
        slides = slide_of(self, values)
        return self._from_least(slides), _further(slides, self.range_ // self.slide - 1)

    def _from_least(self, slides: Ints) -> Ints:
        return slides if self.least is None else np.maximum(slides, 0)

    def ends(self, windows: Ints) -> Ints:
        """Return the end of each window, at most `ENDED`."""
        return end_us(self, windows)

    def outside(self, values: Ints) -> Flags:
        """Return which values lie before all windows."""
        return super().outside(values) if self.least is None else values < self.least

    def bounds(self, wid: int) -> tuple[int, int]:
        """Return start and end of one window; half-open, the start clipped to the least value."""
        end = self.origin + (wid + 1) * self.slide
        start = self.origin if self.range_ is None else end - self.range_
        return max([start, *(one for one in (self.least, self.begins) if one is not None)]), end


class Positions(Grid):
    """The possible windows at positions of records, each with an inclusive end."""

    def bounds(self, wid: int) -> tuple[int, int]:
        """Return start (exclusive) and end (inclusive, its id) of one window."""
        return wid - _range(self), wid


class Gridded(Protocol):
    """A grid, or a window with the clauses of one."""

    @property
    def range_(self) -> int | None:
        """The length of an extent."""

    @property
    def slide(self) -> int:
        """The distance between consecutive ends."""

    @property
    def origin(self) -> int:
        """The start of window 0."""


def grid(window: Window) -> Grid:
    """Return the grid with the window ids of a class.

    For windows at records, a record of attribute a is in the windows at all positions a <= w < a +
    R, which close at w + 1: as in windows of range R that slide by 1.
    """
    if window.traits.at_records:
        return Positions(window.range_, slide=1, origin=0)
    active = window.active
    begins = None if active is None or active.warmup == "skip" else active.begins_us
    if window.align == "start" and window.range_ is not None:
        # Starts at m + kS are ends at m + kS + R: the same grid from another origin. Windows over
        # rows begin with the first row; by their ends, some would begin before it.
        origin = window.origin + window.range_ - window.slide
        least = 0 if window.attribute == ROW_NUM else None
        return Grid(window.range_, window.slide, origin, least, begins)
    return Grid(window.range_, window.slide, window.origin, window.origin, begins)


def slide_of(window: Gridded, ts_us: Ints) -> Ints:
    """Return each time's slide, `(ts - m) div S`, also the first window not ended by then."""
    return _numbered(window, ts_us, ts_us // window.slide)


def last_window(window: Gridded, ts_us: Ints) -> Ints:
    """Return the last window whose extent holds each time, `(ts - m + R) div S - 1`."""
    if window.range_ is None:
        return np.full(len(ts_us), FOR_EVER)
    slides = ts_us // window.slide
    number = _numbered(window, ts_us, slides)
    whole, rest = divmod(_range(window), window.slide)
    if not rest:
        return _further(number, whole - 1)
    # Where in its slide a time lies from the origin on, and whether one more window holds it.
    shifted = _within(window, ts_us, slides) - window.origin % window.slide
    shifted = np.where(shifted < 0, shifted + window.slide, shifted)
    return _further(number, whole - 1 + (shifted >= window.slide - rest))


def _further(number: Ints, by: Ints | int) -> Ints:
    """Return the windows so many further on, at most the largest number."""
    beyond = number > INT64_MAX - np.maximum(by, 0)
    return np.where(beyond, INT64_MAX, number + by) if beyond.any() else number + by


def _within(window: Gridded, ts_us: Ints, slides: Ints) -> Ints:
    """Return `ts mod S`; a product beyond 64 bits comes back with the difference."""
    return ts_us - slides * window.slide


def _numbered(window: Gridded, ts_us: Ints, slides: Ints) -> Ints:
    """Return the slides of times, counted from the origin instead of from zero."""
    shift, rest = divmod(window.origin, window.slide)
    if window.slide == 1:
        # Only then could the difference exceed 64 bits; no window is that far out.
        lowest, highest = INT64_MIN + max(shift + 1, 0), INT64_MAX + min(shift, 0)
        slides = np.clip(slides, lowest, highest)
    if not rest:
        return slides - shift if shift else slides
    return slides - shift - (_within(window, ts_us, slides) < rest)


def end_us(window: Gridded, wids: Ints) -> Ints:
    """Return the end of each window; `ENDED` for ends beyond 64 bits."""
    beyond = wids >= (INT64_MAX - window.origin) // window.slide
    return np.where(beyond, ENDED, window.origin + (np.where(beyond, 0, wids) + 1) * window.slide)


def bounds_of(window: Window, wid: int) -> tuple[int, int]:
    """Return start and end of one window of the window language."""
    return grid(window).bounds(wid)


def lowered(instant_us: Ints, by_us: int | Ints) -> Ints:
    """Return `instant - by`, never below the smallest 64-bit integer."""
    lowest = INT64_MIN + by_us
    return np.where(instant_us < lowest, np.int64(INT64_MIN), instant_us - by_us)


def release_us(instant_us: Ints, epoch_us: int) -> Ints:
    """Return the first epoch boundary after each instant, `(x div T + 1)·T`, at most `ENDED`."""
    epoch = instant_us // epoch_us
    beyond = epoch >= INT64_MAX // epoch_us
    return np.where(beyond, ENDED, (np.where(beyond, 0, epoch) + 1) * epoch_us)


def _range(window: Gridded) -> int:
    assert window.range_ is not None  # noqa: S101 - landmark windows are handled above
    return window.range_
