"""Sliding and tumbling windows over an attribute, by definition.

With origin m, range R and slide S, window w = 0, 1, 2, … is

    extent(w) = [ max(m, m + (w+1)S - R),  m + (w+1)S )

so ends are aligned to the origin and the first windows are clipped at it. R < S leaves gaps. With
ALIGN start, w is any integer and

    extent(w) = [ m + wS, m + wS + R )

Source: Li et al., "Semantics and Evaluation Techniques for Window Aggregates in Data Streams",
SIGMOD 2005, section 3; ALIGN start is the alignment of SAMZA-552.
"""

from __future__ import annotations

from dataclasses import dataclass

from windowing.model.windows.window import Window
from windowing.semantics.windows.active import ActiveDefinition


def extent(window: Window, wid: int) -> tuple[int, int]:
    """Return start and end of window `wid`, half-open, in the attribute's unit."""
    if window.align == "start":
        start = window.origin + wid * window.slide
        return start, start + _range(window)
    end = window.origin + (wid + 1) * window.slide
    return max(window.origin, end - _range(window)), end


def wids(window: Window, value: int) -> range:
    """Return the ids of the windows whose extent holds `value`, the inverse of `extent`."""
    since_origin = value - window.origin
    if window.align == "start":
        return range(
            (since_origin - _range(window)) // window.slide + 1, since_origin // window.slide + 1
        )
    if since_origin < 0:
        return range(0)
    first = since_origin // window.slide
    stop = (since_origin + _range(window)) // window.slide
    return range(first, max(first, stop))


def _range(window: Window) -> int:
    assert window.range_ is not None  # noqa: S101 - only LANDMARK lacks one
    return window.range_


@dataclass(frozen=True)
class SlidingDefinition(ActiveDefinition):
    """Sliding and tumbling windows over an attribute."""

    def whole(self, wid: int) -> tuple[int, int]:
        """Return start and end, half-open, in the attribute's unit."""
        return extent(self.query.window, wid)

    def every(self, value: int) -> range:
        """Return the ids of the windows around a value, as if the query ran for ever."""
        return wids(self.query.window, value)

    def precedes(self, value: int) -> bool:
        """Return whether a value lies before the origin, where windows begin."""
        return value < self.query.window.origin and self.query.window.align == "end"
