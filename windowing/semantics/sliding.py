"""Sliding and tumbling windows over an attribute, by definition.

With origin m, range R and slide S, window w = 0, 1, 2, … is

    extent(w) = [ max(m, m + (w+1)S - R),  m + (w+1)S )

so ends are aligned to the origin and the first windows are clipped at it. R < S leaves gaps.

Source: Li et al., "Semantics and Evaluation Techniques for Window Aggregates in Data Streams",
SIGMOD 2005, section 3.
"""

from __future__ import annotations

from windowing.spec.window import Window


def extent(window: Window, wid: int) -> tuple[int, int]:
    """Return start and end of window `wid`, half-open, in the attribute's unit."""
    end = window.origin + (wid + 1) * window.slide
    return max(window.origin, end - _range(window)), end


def wids(window: Window, value: int) -> range:
    """Return the ids of the windows whose extent holds `value`, the inverse of `extent`."""
    since_origin = value - window.origin
    if since_origin < 0:
        return range(0)
    first = since_origin // window.slide
    stop = (since_origin + _range(window)) // window.slide
    return range(first, max(first, stop))


def _range(window: Window) -> int:
    assert window.range_ is not None  # noqa: S101 - only LANDMARK has none
    return window.range_
