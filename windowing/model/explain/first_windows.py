"""The first windows of a query as extents, for pictures: what a window means, seen.

Windows of the slide-by-tuple family lie where records lie, so an example of evenly spaced records
stands for a stream.

Source: Li et al., SIGMOD 2005, section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from windowing.model.file.pipeline import Source
from windowing.model.lengths import spell_us
from windowing.model.windows.window import ROW_NUM, Window

_PER_RANGE = 4
"""How many of the example's records lie in one range."""


@dataclass(frozen=True)
class Extent:
    """What one window spans, from the origin on, in the unit of the windowing attribute.

    Attributes:
        wid: number of the window; where windows lie at records, the position of its record.
        start, end: half-open `[start, end)`; where windows lie at records, `(start, end]`.
    """

    wid: int
    start: int
    end: int


def first_windows(window: Window, count: int = 4) -> list[Extent]:
    """The extents of the first windows, starts clipped where the class clips them."""
    if window.traits.at_records:
        range_, every = window.range_ or 1, window.slide
        ends = [every * (number + 1) * example_step(window) for number in range(count)]
        return [Extent(end, end - range_, end) for end in ends]
    if window.align == "start":
        starts = [wid * window.slide for wid in range(count)]
        return [Extent(n, start, start + (window.range_ or 0)) for n, start in enumerate(starts)]
    ends = [(wid + 1) * window.slide for wid in range(count)]
    range_ = ends[-1] if window.range_ is None else window.range_
    return [Extent(wid, max(0, end - range_), end) for wid, end in enumerate(ends)]


def example_step(window: Window) -> int:
    """The distance of the example's records, for windows that lie at records."""
    return max((window.range_ or 1) // _PER_RANGE, 1)


def speller(window: Window, source: Source) -> Callable[[int], str]:
    """How lengths of the windowing attribute are written."""
    if window.attribute == ROW_NUM:
        return lambda length: f"{length} row" + "s" * (length != 1)
    if window.attribute == source.event_time.field:
        return lambda length: "0" if length == 0 else "-" * (length < 0) + spell_us(abs(length))
    return str
