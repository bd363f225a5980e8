"""Windows at records, by definition: one for each value of a defining record.

    extent(w) = { t : w - R < t.a <= w },   w the attribute of a defining record

so the start is open, the end closed, ties share a window, and a window closes when progress passes
its end: close(w) = w + 1. The classes differ in which records define windows: all, every n-th to
arrive, or every n-th in canonical order.

A record defines a window at revision 0 iff it is on time for it. A late one, under `update` and
within retention, defines it at its epoch; the window then appears there, with all its records.

Source: Li et al., SIGMOD 2005, section 4.4; ties and late definers are ours.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from windowing.model.flow import StreamFlow
from windowing.semantics.aggregates import refused_by
from windowing.semantics.lanes import Progress
from windowing.semantics.units import Holding, Item, Lateness, Unit, in_one_lane, is_late, judge
from windowing.semantics.windows.definition import ExtentDefinition


def _defined(query: StreamFlow, definers: Iterable[Item]) -> dict[int, int | None]:
    """Return the windows, each with the epoch at which it appears; None: at revision 0."""
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
    """Windows at the positions of records; subclasses choose which records define one."""

    def extent(self, wid: int) -> tuple[int, int]:
        """Return start (exclusive) and end (inclusive)."""
        range_ = self.query.window.range_
        assert range_ is not None  # noqa: S101 - only LANDMARK lacks one
        return wid - range_, wid

    def closes_at(self, wid: int, rows: Sequence[Item]) -> Progress:
        """Return the progress that has passed the window's inclusive end."""
        return wid + 1

    def takes(self, item: Item) -> bool:
        """Return whether a record may be in some window, at any position in its reach.

        A window at position w closes at w + 1, so the last position decides for a late record.
        """
        start, end = self.extent(item.value)
        last = item.value + (end - start) - 1
        return judge(self.query, last + 1, item.value + 1, item.progress) != "refused"

    def lateness(self, item: Item) -> Lateness | None:
        """Return the lateness: progress had passed it, but it may be on time for later windows."""
        if not is_late(self.query, item.value + 1, item.value + 1, item.progress):
            return None
        start, end = self.extent(item.value)
        reaches = item.progress < item.value + (end - start)
        return Lateness(whole=self.query.late.mode == "consistent" or not reaches)

    def missed(self, item: Item, known: Sequence[int]) -> list[int]:
        """Return the existing windows that a record lies in and is late for."""
        extents = ((wid, self.extent(wid)) for wid in known)
        inside = [wid for wid, (start, end) in extents if start < item.value <= end]
        first = item.value + 1
        return [w for w in inside if is_late(self.query, w + 1, first, item.progress)]

    @abstractmethod
    def definers(self, unit: Unit) -> Iterable[Item]:
        """Return the records that define windows.

        Raises:
            ArrivalOrderError: they are counted on arrival, and the unit arrives in two lanes.
        """

    def hold(self, unit: Unit) -> list[Holding]:
        """Return what each window holds of a unit, and since when."""
        defined = _defined(self.query, self.definers(unit))
        windows = sorted(defined)
        held = []
        for item in unit.items:
            for wid in windows[bisect_left(windows, item.value) :]:
                if not self.extent(wid)[0] < item.value:
                    break
                verdict = judge(self.query, wid + 1, item.value + 1, item.progress)
                if verdict != "refused":
                    # Records are not shown before their window appears.
                    instants = {verdict, defined[wid]} - {"on_time", None}
                    shown = max((at for at in instants if isinstance(at, int)), default=None)
                    held.append(Holding(wid, item, shown))
        return held


class SlideByTupleDefinition(AtRecordsDefinition):
    """Windows that all records define."""

    def definers(self, unit: Unit) -> Sequence[Item]:
        """Return all records."""
        return unit.items


class SlideByNDefinition(AtRecordsDefinition):
    """Windows that every n-th arriving record defines.

    The n-th, 2n-th, … data record of a unit, counting late ones, defines a window; the unit must
    lie in one lane. Source: Li et al., SIGMOD 2005, section 4.5; which record of n is ours.
    """

    def definers(self, unit: Unit) -> Sequence[Item]:
        """Return the n-th record, the 2n-th, and so on.

        Raises:
            ArrivalOrderError: two lanes carry the unit.
        """
        slide = self.query.window.slide
        counted = in_one_lane(unit)[slide - 1 :: slide]
        return [one for one in counted if refused_by(self.query.aggregates, one.fields) is None]


class SlideByRankDefinition(AtRecordsDefinition):
    """Windows that every n-th record in canonical order defines.

    On-time records are ranked over all lanes of the unit. A rank is final once progress has passed
    the record, and no window closes before that. Source: Li et al., SIGMOD 2005, section 4.6; which
    record of n is ours.
    """

    def definers(self, unit: Unit) -> Sequence[Item]:
        """Return the n-th, 2n-th, … on-time record in canonical order."""
        on_time = [item for item in unit.items if item.progress <= item.value]
        slide = self.query.window.slide
        return sorted(on_time, key=lambda item: item.canonical)[slide - 1 :: slide]
