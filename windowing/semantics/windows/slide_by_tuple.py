"""Windows that records define, by definition: one for each value that a defining record has.

    extent(w) = { t : w - R < t.a <= w },   w the attribute of a defining record

so the start is open, the end closed, ties share a window, and a window closes when progress passes
its end: close(w) = w + 1. Which records define windows is what the classes differ in: here all do,
in `slide_by_n` every n-th to arrive, in `slide_by_rank` every n-th in canonical order.

A record defines a window at revision 0 iff it is on time for it. A late one, under `update` and
within retention, defines it at its epoch; the window then appears there, with all that it holds.

Source: Li et al., SIGMOD 2005, section 4.4; ties and late definers are ours.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from windowing.model.flow import StreamFlow
from windowing.model.windows.window import Window
from windowing.semantics.lanes import Progress
from windowing.semantics.lateness import is_late, judge
from windowing.semantics.units import Holding, Item, Lateness, Unit
from windowing.semantics.windows.definition import ExtentDefinition


def extent(window: Window, wid: int) -> tuple[int, int]:
    """Return start (excluded) and end (included) of window `wid`."""
    assert window.range_ is not None  # noqa: S101 - only LANDMARK has none
    return wid - window.range_, wid


def _defined(query: StreamFlow, definers: Iterable[Item]) -> dict[int, int | None]:
    """The windows, each with the epoch at which it appears; None: at revision 0."""
    defined: dict[int, int | None] = {}
    for item in definers:
        if item.progress <= item.value:
            defined[item.value] = None
            continue
        release = judge(query, item.value + 1, item.value + 1, item.progress)
        if isinstance(release, int):
            earlier = defined.get(item.value, release)
            defined[item.value] = None if earlier is None else min(earlier, release)
    return defined


@dataclass(frozen=True)
class AtRecordsDefinition(ExtentDefinition):
    """Windows at the positions of records; the classes differ in which define one."""

    def extent(self, wid: int) -> tuple[int, int]:
        """Return start (excluded) and end (included)."""
        return extent(self.query.window, wid)

    def closes_at(self, wid: int, rows: Sequence[Item]) -> Progress:
        """The progress that has passed the window's end, which belongs to it."""
        return wid + 1

    def takes(self, item: Item) -> bool:
        """Whether a record may be in some window: there may be one at every position in its reach.

        A window at position w closes at w + 1, so a late record has its best chance at the last.
        """
        start, end = self.extent(item.value)
        last = item.value + (end - start) - 1
        return judge(self.query, last + 1, item.value + 1, item.progress) != "refused"

    def lateness(self, item: Item) -> Lateness | None:
        """Late is what progress had passed; it may still be on time for later windows."""
        if not is_late(self.query, item.value + 1, item.value + 1, item.progress):
            return None
        start, end = self.extent(item.value)
        reaches = item.progress < item.value + (end - start)
        return Lateness(whole=self.query.late.mode == "consistent" or not reaches)

    def missed(self, item: Item, known: Sequence[int]) -> list[int]:
        """Of the windows that exist, those that a record lies in and is late for."""
        extents = ((wid, self.extent(wid)) for wid in known)
        inside = [wid for wid, (start, end) in extents if start < item.value <= end]
        first = item.value + 1
        return [w for w in inside if is_late(self.query, w + 1, first, item.progress)]

    @abstractmethod
    def definers(self, unit: Unit) -> Iterable[Item]:
        """The records that define windows.

        Raises:
            ArrivalOrderError: they are counted as they arrive, and the unit arrives in two lanes.
        """

    def hold(self, unit: Unit) -> list[Holding]:
        """What each window holds of a unit, and since when."""
        defined = _defined(self.query, self.definers(unit))
        windows = sorted(defined)
        held = []
        for item in unit.items:
            for wid in windows[bisect_left(windows, item.value) :]:
                if not self.extent(wid)[0] < item.value:
                    break
                verdict = judge(self.query, wid + 1, item.value + 1, item.progress)
                if verdict != "refused":
                    # Nothing is shown before the window itself appears.
                    instants = {verdict, defined[wid]} - {"on_time", None}
                    shown = max((at for at in instants if isinstance(at, int)), default=None)
                    held.append(Holding(wid, item, shown))
        return held


class SlideByTupleDefinition(AtRecordsDefinition):
    """Windows that all records define."""

    def definers(self, unit: Unit) -> Sequence[Item]:
        """All records."""
        return unit.items
