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
from windowing.semantics.lateness import is_late, judge
from windowing.semantics.units import Holding, Item, Lateness, Unit
from windowing.semantics.windows.definition import ExtentDefinition


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
    assert window.range_ is not None  # noqa: S101 - only LANDMARK has none
    return window.range_


@dataclass(frozen=True)
class SlidingDefinition(ExtentDefinition):
    """Sliding and tumbling windows over an attribute."""

    def extent(self, wid: int) -> tuple[int, int]:
        """Return start and end, half-open, in the attribute's unit."""
        return extent(self.query.window, wid)

    def hold(self, unit: Unit) -> list[Holding]:
        """What each window holds of a unit; windows that hold nothing do not exist."""
        held = []
        for item in unit.items:
            ids = wids(self.query.window, item.value)
            for wid in ids:
                end, earliest = (self.extent(w)[1] for w in (wid, ids[0]))
                verdict = judge(self.query, end, earliest, item.progress)
                if verdict != "refused":
                    held.append(Holding(wid, item, None if verdict == "on_time" else verdict))
        return held

    def takes(self, item: Item) -> bool:
        """Whether some window takes a record."""
        ids = wids(self.query.window, item.value)
        ends = [self.extent(wid)[1] for wid in ids]
        return any(judge(self.query, end, ends[0], item.progress) != "refused" for end in ends)

    def lateness(self, item: Item) -> Lateness | None:
        """For which windows a record is late; None: for none."""
        ids = wids(self.query.window, item.value)
        ends = {wid: self.extent(wid)[1] for wid in ids}
        earliest = min(ends.values(), default=0)
        late = [
            wid for wid, end in ends.items() if is_late(self.query, end, earliest, item.progress)
        ]
        return Lateness(len(late) == len(ids), late[0], late[-1]) if late else None
