"""Windows of queries that may be active for a while only, by definition.

A query that is active from b until u has those of its windows that lie in [b, u): their numbers,
and what is late for them, are the same as if it had all. With `warmup: emit` windows that only end
in there are among them, and begin at b.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

from windowing.model.windows.activity import Activity
from windowing.semantics.units import Holding, Item, OutsideReason, Unit
from windowing.semantics.windows.by_value import ByValueDefinition


@dataclass(frozen=True)
class ActiveDefinition(ByValueDefinition):
    """Windows of which a query may have some: those in the time in which it is active."""

    @abstractmethod
    def whole(self, wid: int) -> tuple[int, int]:
        """Return start and end of a window as if the query ran for ever; half-open."""

    @abstractmethod
    def every(self, value: int) -> range:
        """Return the ids of the windows around a value, as if the query ran for ever."""

    @abstractmethod
    def precedes(self, value: int) -> bool:
        """Return whether a value lies before all windows."""

    def extent(self, wid: int) -> tuple[int, int]:
        """Return start and end, half-open, in the attribute's unit."""
        start, end = self.whole(wid)
        active = self.query.window.active
        if active is None or active.begins_us is None or active.warmup == "skip":
            return start, end
        return max(start, active.begins_us), end

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
        start, end = self.whole(wid)
        if active.until_us is not None and end > active.until_us:
            return False
        return active.begins_us is None or active.warmup == "emit" or start >= active.begins_us

    def outside(self, value: int) -> OutsideReason | None:
        """Return why a value lies in no window; None: it lies in some."""
        if self.precedes(value):
            return "before_origin"
        if self.every(value) and not self.wids(value):
            return "inactive"
        return super().outside(value)
