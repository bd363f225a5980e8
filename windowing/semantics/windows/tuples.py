"""Windows over row numbers, by definition: records are numbered 0, 1, 2, … within a unit.

    extent(w) = { i : max(0, (w+1)S - R) <= i < (w+1)S },   or from 0 on with LANDMARK

With ALIGN start, extent(w) = { i : wS <= i < wS + R }, so the first window is full.

ORDER log: a record's number is its position in the one lane that carries its unit.
ORDER event_time: its rank in canonical order among on-time records of all lanes, known once
progress has passed it. A record that its lane's progress had passed gets no number.

Source: Li et al., SIGMOD 2005; counting from 0 and ORDER are ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from windowing.model.windows.window import Window
from windowing.semantics.lanes import Progress
from windowing.semantics.units import Holding, Item, Lateness, Unit, in_one_lane
from windowing.semantics.windows.definition import ExtentDefinition


def extent(window: Window, wid: int) -> tuple[int, int]:
    """Return the first row number of window `wid` and the one after its last."""
    if window.align == "start" and window.range_ is not None:
        return wid * window.slide, wid * window.slide + window.range_
    end = (wid + 1) * window.slide
    return 0 if window.range_ is None else max(0, end - window.range_), end


def wids(window: Window, number: int, last_number: int) -> range:
    """Return the ids of the windows that hold a row number, given the last existing number.

    A landmark window is included if some row lies in its last slide or later.
    """
    first = number // window.slide
    if window.range_ is None:
        return range(first, last_number // window.slide + 1)
    if window.align == "start":
        return range(max(0, (number - window.range_) // window.slide + 1), first + 1)
    return range(first, max(first, (number + window.range_) // window.slide))


@dataclass(frozen=True)
class RowDefinition(ExtentDefinition):
    """Windows over row numbers."""

    def extent(self, wid: int) -> tuple[int, int]:
        """Return the first row number and the one after the last."""
        return extent(self.query.window, wid)

    def numbered(self, unit: Unit) -> list[Item]:
        """Return the unit's records, indexed by row number.

        Raises:
            ArrivalOrderError: ORDER log, and two lanes carry the unit.
        """
        if self.query.window.traits.counts_arrivals:
            return list(in_one_lane(unit))
        on_time = [item for item in unit.items if self.lateness(item) is None]
        passed = (item for item in on_time if item.value < unit.final)
        return sorted(passed, key=lambda item: item.canonical)

    def hold(self, unit: Unit) -> list[Holding]:
        """Return what each closed window holds of a unit."""
        rows = self.numbered(unit)
        held = []
        for number, item in enumerate(rows):
            for wid in wids(self.query.window, number, len(rows) - 1):
                # Closed by its last row, or by the end of all lanes.
                if self.extent(wid)[1] <= len(rows) or unit.final == math.inf:
                    held.append(Holding(wid, item, None))
        return held

    def closes_at(self, wid: int, rows: Sequence[Item]) -> Progress:
        """Return the progress that has passed the last row, whose number is then final."""
        end = self.extent(wid)[1]
        return rows[end - 1].value + 1 if end <= len(rows) else math.inf

    def closed(self, wid: int, unit: Unit) -> bool:
        """Return True: `hold` gives only windows whose revision 0 was sent."""
        return True

    def ended(self, wid: int, before: int, unit: Unit) -> bool:
        """Return whether a window without rows of a key was sent, by the number of all rows."""
        count = len(self.numbered(unit))
        if self.extent(wid)[1] <= count:
            return True
        return unit.final == math.inf and self.extent(before)[1] <= count - 1

    def takes(self, item: Item) -> bool:
        """Return whether a record gets a row number, which may lie in a gap."""
        return self.lateness(item) is None

    def lateness(self, item: Item) -> Lateness | None:
        """Return the lateness: progress had passed the record; in log order, never."""
        late = not self.query.window.traits.counts_arrivals and item.progress > item.value
        return Lateness(whole=True) if late else None
