"""Sliding and tumbling windows over an attribute, by definition.

With origin m, range R and slide S, window w = 0, 1, 2, … is

    extent(w) = [ max(m, m + (w+1)S - R),  m + (w+1)S )

so ends are aligned to the origin and the first windows are clipped at it. R < S leaves gaps. With
ALIGN start, w is any integer and

    extent(w) = [ m + wS, m + wS + R )

A query that is active from b until u has those of these windows that lie in [b, u): their numbers,
and what is late for them, are the same as if it had all. With `warmup: emit` windows that only end
in there are among them, and begin at b.

Source: Li et al., "Semantics and Evaluation Techniques for Window Aggregates in Data Streams",
SIGMOD 2005, section 3; ALIGN start is the alignment of SAMZA-552.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from windowing.model.windows.activity import Activity
from windowing.model.windows.window import Window
from windowing.semantics.units import Holding, Item, OutsideReason, Unit
from windowing.semantics.windows.by_value import ByValueDefinition


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
class SlidingDefinition(ByValueDefinition):
    """Sliding and tumbling windows over an attribute."""

    def extent(self, wid: int) -> tuple[int, int]:
        """Return start and end, half-open, in the attribute's unit."""
        start, end = extent(self.query.window, wid)
        active = self.query.window.active
        if active is None or active.begins_us is None or active.warmup == "skip":
            return start, end
        return max(start, active.begins_us), end

    def every(self, value: int) -> range:
        """Return the ids of the windows around a value, as if the query ran for ever."""
        return wids(self.query.window, value)

    def wids(self, value: int) -> range:
        """Return the ids of the windows whose extent holds a value, while the query is active."""
        every = self.every(value)
        active = self.query.window.active
        return every if active is None else self._there(value, active)

    def around(self, item: Item) -> range:
        """Return the ids of the windows that decide what becomes of a record.

        They are those of the query as the record's lane knows it by then.
        """
        active = self.query.window.active
        if active is None:
            return self.every(item.value)
        joins_at, leaves_at = active.joins_at(item.lane), active.leaves_at(item.lane)
        if joins_at is None or item.offset <= joins_at:
            return range(0)
        if leaves_at is None or item.offset <= leaves_at:
            active = replace(active, until_us=None)
        else:
            active = replace(active, until_us=active.until_in(item.lane))
        return self._there(item.value, active)

    def hold(self, unit: Unit) -> list[Holding]:
        """Return what the windows hold that have rows, and since when."""
        active, held = self.query.window.active, super().hold(unit)
        if active is None:
            return held
        return [one for one in held if not active.lacking and self._is_there(one.wid, active)]

    def exists(self, wid: int) -> bool:
        """Return whether the query is active while a window lasts."""
        active = self.query.window.active
        return active is None or self._is_there(wid, active)

    def _there(self, value: int, active: Activity) -> range:
        """Return the ids of the windows that hold a value, among those of an activity."""
        if active.begins_us is not None and value < active.begins_us:
            return range(0)
        there = [wid for wid in self.every(value) if self._is_there(wid, active)]
        return range(there[0], there[-1] + 1) if there else range(0)

    def _is_there(self, wid: int, active: Activity) -> bool:
        start, end = extent(self.query.window, wid)
        if active.until_us is not None and end > active.until_us:
            return False
        return active.begins_us is None or active.warmup == "emit" or start >= active.begins_us

    def outside(self, value: int) -> OutsideReason | None:
        """Return why a value lies in no window; None: it lies in some."""
        window = self.query.window
        if value < window.origin and window.align == "end":
            return "before_origin"
        if self.every(value) and not self.wids(value):
            return "inactive"
        return super().outside(value)
