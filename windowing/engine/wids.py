"""Which windows a record enters: the arithmetic of window ids, a column at a time.

Window w of `RANGE R SLIDE S ORIGIN m` is [max(m, m + (w+1)S - R), m + (w+1)S), w = 0, 1, …; with
`ALIGN start` it is [m + wS, m + wS + R), w any integer, over rows 0, 1, ….
All divisions round down, also below zero; no step leaves 64 bits for any event time.

Source: Li et al., SIGMOD 2005, section 4; wids of sliding windows, ends aligned to the origin.
"""

from __future__ import annotations

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


@dataclass(frozen=True)
class Grid:
    """Ends that lie one slide apart: what all arithmetic here is about.

    Attributes:
        range_: length of an extent; None: all begin at the origin.
        slide: distance of two ends.
        origin: window 0 ends a slide behind it.
    """

    range_: int | None
    slide: int
    origin: int


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
        return Grid(window.range_, slide=1, origin=0)
    if window.align == "start" and window.range_ is not None:
        # Starts at m + kS are ends at m + kS + R: the same grid from another origin.
        origin = window.origin + window.range_ - window.slide
        return Grid(window.range_, window.slide, origin)
    return Grid(window.range_, window.slide, window.origin)


def slide_of(window: Gridded, ts_us: Ints) -> Ints:
    """The slide of each time, `(ts - m) div S`; it is also the first window not ended by then."""
    slide, origin = window.slide, window.origin
    shift = origin // slide
    # With a slide of 1 us the difference could leave 64 bits; so far out no window is near.
    lowest, highest = INT64_MIN + max(shift + 1, 0), INT64_MAX + min(shift, 0)
    quotient = np.clip(ts_us // slide, lowest, highest) - shift
    return quotient + (ts_us % slide - origin % slide) // slide


def first_window(window: Window, ts_us: Ints) -> Ints:
    """The first window whose extent may hold each time, in the ids of the window's own grid."""
    first = slide_of(grid(window), ts_us)
    # Windows of rows begin with the first row; it is by their ends that some would begin before.
    rows_from_start = window.align == "start" and window.attribute == ROW_NUM
    return np.maximum(first, 0) if rows_from_start else first


def last_window(window: Gridded, ts_us: Ints) -> Ints:
    """The last window whose extent holds each time, `(ts - m + R) div S - 1`."""
    if window.range_ is None:
        return np.full(len(ts_us), FOR_EVER)
    within = (ts_us % window.slide - window.origin % window.slide) % window.slide
    slides, after = slide_of(window, ts_us), (within + _range(window)) // window.slide - 1
    return np.where(slides > INT64_MAX - np.maximum(after, 0), INT64_MAX, slides + after)


def ended_by(window: Gridded, progress_us: Ints) -> Ints:
    """The last window that has ended when progress stands at an instant: `end(w) <= P`."""
    return np.where(progress_us == ENDED, ENDED, slide_of(window, progress_us) - 1)


def end_us(window: Gridded, wids: Ints) -> Ints:
    """The end of each window, at most `ENDED` for windows that end beyond 64 bits."""
    beyond = wids >= (INT64_MAX - window.origin) // window.slide
    return np.where(beyond, ENDED, window.origin + (np.where(beyond, 0, wids) + 1) * window.slide)


def bounds_of(window: Window, wid: int) -> tuple[int, int]:
    """Start and end of one window; half-open, the start clipped to the origin.

    Where records define windows the start is open and the end, which is the id, is closed.
    """
    if window.traits.at_records:
        return wid - _range(window), wid
    if window.align == "start":
        start = window.origin + wid * window.slide
        return start, start + _range(window)
    end = window.origin + (wid + 1) * window.slide
    start = window.origin if window.range_ is None else end - window.range_
    return max(window.origin, start), end


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
