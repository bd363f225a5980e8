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

from windowing.model.file.pipeline import Query
from windowing.model.windows.window import Window
from windowing.semantics.lateness import is_late, judge
from windowing.semantics.units import Holding, Item, Lateness, Unit


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


def hold(query: Query, unit: Unit) -> list[Holding]:
    """What each window holds of a unit; windows that hold nothing do not exist."""
    held = []
    for item in unit.items:
        ids = wids(query.window, item.value)
        for wid in ids:
            end, earliest = (extent(query.window, w)[1] for w in (wid, ids[0]))
            verdict = judge(query, end, earliest, item.progress)
            if verdict != "refused":
                held.append(Holding(wid, item, None if verdict == "on_time" else verdict))
    return held


def takes(query: Query, item: Item) -> bool:
    """Whether some window takes a record."""
    ids = wids(query.window, item.value)
    ends = [extent(query.window, wid)[1] for wid in ids]
    return any(judge(query, end, ends[0], item.progress) != "refused" for end in ends)


def closed(window: Window, wid: int, unit: Unit) -> bool:
    """Whether revision 0 of a window was sent by the end of the log."""
    return unit.final >= extent(window, wid)[1]


def lateness(query: Query, item: Item) -> Lateness | None:
    """For which windows a record is late; None: for none."""
    ids = wids(query.window, item.value)
    late = [
        wid
        for wid in ids
        if is_late(
            query, extent(query.window, wid)[1], extent(query.window, ids[0])[1], item.progress
        )
    ]
    return Lateness(len(late) == len(ids), late[0], late[-1]) if late else None


def _range(window: Window) -> int:
    assert window.range_ is not None  # noqa: S101 - only LANDMARK has none
    return window.range_
