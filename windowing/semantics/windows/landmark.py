"""Landmark windows, by definition: all begin at the origin, each one slide longer.

    extent(w) = [ m, m + (w+1)S )        m: origin, S: slide

A record is in all windows from its first on, so the end of the log needs a last window: the last
that some lane's finite progress had reached, or the first window of the newest record, whichever is
later. So the order in which lanes end is irrelevant.

Source: Li et al., SIGMOD 2005; the last window is ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from windowing.model.flow import StreamFlow
from windowing.model.rules import WINDOWS_MAX
from windowing.model.windows.window import Window
from windowing.semantics.units import Holding, Item, Lateness, OutsideReason, Unit, is_late, judge
from windowing.semantics.windows.definition import ExtentDefinition


class EndlessLandmarkError(ValueError):
    """A log with more landmark windows than can be listed."""

    exit_code = 1


def extent(window: Window, wid: int) -> tuple[int, int]:
    """Return start and end of window `wid`, half-open, in the attribute's unit."""
    return window.origin, window.origin + (wid + 1) * window.slide


def first_window(window: Window, value: int) -> int | None:
    """Return the first window that holds a value; later ones do, too. None: before the origin."""
    return (value - window.origin) // window.slide if value >= window.origin else None


def last_window(window: Window, unit: Unit) -> int:
    """Return the last window that is ever sent."""
    newest = first_window(window, unit.newest)
    reached = unit.furthest - window.origin
    ended = int(reached) // window.slide - 1 if math.isfinite(reached) else -1
    return max(ended, -1 if newest is None else newest)


def _check_number(query: StreamFlow, unit: Unit, last: int) -> None:
    window = query.window
    firsts = [first_window(window, item.value) for item in unit.items]
    many = last + 1 - min((first for first in firsts if first is not None), default=last)
    if many > WINDOWS_MAX:
        msg = (
            f"query {query.name}: the log has {many:,} landmark windows, more than "
            f"{WINDOWS_MAX:,}: if a record's time leaps ahead, give event_time a max or a "
            "max_ahead, which make it a dead letter; else choose a longer slide"
        )
        raise EndlessLandmarkError(msg)


@dataclass(frozen=True)
class LandmarkDefinition(ExtentDefinition):
    """Landmark windows over an attribute."""

    def extent(self, wid: int) -> tuple[int, int]:
        """Return start and end, half-open, in the attribute's unit."""
        return extent(self.query.window, wid)

    def hold(self, unit: Unit) -> list[Holding]:
        """Return what each window holds of a unit, up to the last one that is sent."""
        last = last_window(self.query.window, unit)
        _check_number(self.query, unit, last)
        held = []
        for item in unit.items:
            first = first_window(self.query.window, item.value)
            if first is None:
                continue
            # One more than are sent, for a record that is late for all of those.
            for wid in range(first, last + 2):
                end, earliest = (self.extent(w)[1] for w in (wid, first))
                verdict = judge(self.query, end, earliest, item.progress)
                if verdict != "refused":
                    held.append(Holding(wid, item, None if verdict == "on_time" else verdict))
        return held

    def closed(self, wid: int, unit: Unit) -> bool:
        """Return whether revision 0 of a window was sent by the end of the log."""
        return wid <= last_window(self.query.window, unit) and super().closed(wid, unit)

    def takes(self, item: Item) -> bool:
        """Return whether some window takes a record; it is never late for all."""
        found = self.lateness(item)
        in_some = first_window(self.query.window, item.value) is not None
        return in_some and (found is None or not found.whole)

    def lateness(self, item: Item) -> Lateness | None:
        """Return the windows that a record is late for; None: it is not late."""
        window = self.query.window
        first = first_window(window, item.value)
        if first is None:
            return None
        earliest = self.extent(first)[1]
        if not is_late(self.query, earliest, earliest, item.progress):
            return None
        if self.query.late.mode == "consistent":
            return Lateness(whole=True, first=first)
        # Late for windows that end at or before its lane's progress.
        last = (int(item.progress) - window.origin) // window.slide - 1
        return Lateness(whole=False, first=first, last=last)

    def outside(self, value: int) -> OutsideReason | None:
        """Return why a value lies in no window; None: it lies in some."""
        return "before_origin" if value < self.query.window.origin else None

    def missed(self, item: Item, known: Sequence[int]) -> list[int]:
        """Return the existing windows that a record lies in and is late for."""
        first = first_window(self.query.window, item.value)
        if first is None:
            return []
        earliest = self.extent(first)[1]
        closes = {wid: self.extent(wid)[1] for wid in known if wid >= first}
        return [w for w, at in closes.items() if is_late(self.query, at, earliest, item.progress)]
