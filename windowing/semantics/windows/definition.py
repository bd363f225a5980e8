"""The protocols of a window class's definition, which is built from a query.

All say which records they take, as a join does (`FlowDefinition`), and which rows a unit has.
Windows with a number say what their extents are and hold (`ExtentDefinition`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from windowing.model.flow import StreamFlow
from windowing.model.lengths import INT64_MAX
from windowing.model.rows import Key
from windowing.semantics.aggregates import refused_by
from windowing.semantics.lanes import Progress
from windowing.semantics.units import (
    Holding,
    Item,
    Lateness,
    OutsideReason,
    Unit,
    WindowRevision,
    group_of,
    part_of,
)


class FlowDefinition(Protocol):
    """The definition of what becomes of each record: in a query's windows, or in a join."""

    def takes(self, item: Item) -> bool:
        """Whether a record is in some window, closed or not, at revision 0 or later; or is joined.

        If records define windows, a possible window is enough: which windows exist depends on later
            records, and a record's fate must not.
        """

    def lateness(self, item: Item) -> Lateness | None:
        """Return the windows that a record is late for; None: it is not late."""

    def outside(self, value: int) -> OutsideReason | None:
        """Return why a value lies in no window, whatever the progress; None: it lies in some."""
        del value
        return None


class WindowDefinition(FlowDefinition, Protocol):
    """The definition of one query's windows, which a unit's records and progress decide."""

    def courses(self, unit: Unit) -> Sequence[Sequence[WindowRevision]]:
        """Return the rows of each key and window, or session start, in order.

        Raises:
            ArrivalOrderError: rows are counted on arrival, and the unit arrives in two lanes.
        """


@dataclass
class _Content:
    on_time: list[Item] = field(default_factory=list)
    called: bool = False
    late: dict[int, list[Item]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True)
class ExtentDefinition(WindowDefinition, ABC):
    """The definition of windows whose numbers give their extents.

    Attributes:
        query: its window and late policy.
    """

    query: StreamFlow

    @abstractmethod
    def extent(self, wid: int) -> tuple[int, int]:
        """Return start and end; the class decides which of them is inclusive."""

    @abstractmethod
    def hold(self, unit: Unit) -> list[Holding]:
        """Return what each window holds of a unit, and since when.

        Raises:
            ArrivalOrderError: rows are counted on arrival, and the unit arrives in two lanes.
        """

    def closes_at(self, wid: int, rows: Sequence[Item]) -> Progress:
        """Return the progress that closes a window; infinity: the end of all lanes.

        Args:
            rows: for windows over rows, the unit's rows, each at its number.
        """
        return self.extent(wid)[1]

    def closed(self, wid: int, unit: Unit) -> bool:
        """Return whether revision 0 of a window was sent by the end of the log."""
        return unit.final >= self.closes_at(wid, ())

    def missed(self, item: Item, known: Sequence[int]) -> list[int]:
        """Return the existing windows that a record lies in and is late for.

        A record without a row number lies in no window over rows.
        """
        del item, known
        return []

    def next(self, wid: int) -> int:
        """Return the number of the window behind another one."""
        return wid + 1

    def exists(self, wid: int) -> bool:
        """Return whether the query has a window, whatever the records."""
        del wid
        return True

    def ended(self, wid: int, before: int, unit: Unit) -> bool:
        """Return whether a window without records on time was sent by the end of the log.

        Once all lanes have ended, the last one is that of landmark windows: the last that any
        lane's finite progress had reached, or the first that ends behind the newest record.

        Args:
            before: the window before it.
        """
        end = self.extent(wid)[1]
        if unit.final < math.inf:
            return end <= unit.final
        return end <= unit.furthest or self.extent(before)[1] <= unit.newest

    def called(self, wid: int, unit: Unit, filled: Container[int]) -> Iterator[int]:
        """Yield the windows that are sent without records because of one that has some.

        Args:
            filled: the windows that have some.
        """
        before = wid
        for _ in range(self.query.empty_after):
            behind = self.next(before)
            if behind in filled or not self.exists(behind):
                return
            # A window whose end no time can be never ends.
            if self.extent(behind)[1] >= INT64_MAX or not self.ended(behind, before, unit):
                return
            yield behind
            before = behind

    def courses(self, unit: Unit) -> list[list[WindowRevision]]:
        """Yield the revisions of each window and key of a unit."""
        contents: dict[tuple[int, Key], _Content] = defaultdict(_Content)
        for holding in self.hold(unit):
            if refused_by(self.query.aggregates, holding.item.fields) is not None:
                continue
            content = contents[holding.wid, group_of(self.query, holding.item)]
            if holding.release is None:
                content.on_time.append(holding.item)
            else:
                content.late[holding.release].append(holding.item)
        self._call(unit, contents)
        return [
            list(self._shown(unit, wid, group, content))
            for (wid, group), content in contents.items()
        ]

    def _call(self, unit: Unit, contents: dict[tuple[int, Key], _Content]) -> None:
        """Add the windows that are sent without records, or mark them."""
        if not self.query.empty_after:
            return
        filled: dict[Key, set[int]] = defaultdict(set)
        for (wid, group), content in contents.items():
            if content.on_time:
                filled[group].add(wid)
        for group, wids in filled.items():
            for wid in wids:
                for one in self.called(wid, unit, wids):
                    contents[one, group].called = True

    def _shown(
        self, unit: Unit, wid: int, group: Key, content: _Content
    ) -> Iterator[WindowRevision]:
        (start, end), part = self.extent(wid), part_of(self.query.window, unit.items[0])

        def row(revision: int, release: int | None, holds: list[Item]) -> WindowRevision:
            ordered = tuple(sorted(holds, key=lambda item: item.canonical))
            turn = int(revision > 0)
            return WindowRevision(
                wid, start, end, part, group, revision, release, ordered, turn=turn
            )

        holds = list(content.on_time)
        if content.called or (holds and self.closed(wid, unit)):
            yield row(0, None, holds)
        for revision, release in enumerate(sorted(content.late), start=1):
            holds += content.late[release]
            if unit.final >= release:
                yield row(revision, release, holds)
