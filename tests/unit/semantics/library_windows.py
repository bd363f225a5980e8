"""The published library's differences from the definition, by the rows of `spl.md` 0.

An insert that evicts its own partition has no defined sequel here: in the library it reads memory
that it has freed (D14).
"""

from __future__ import annotations

from collections.abc import Sequence

from windowing.model.windows.policy import Count, Delta, PartitionAge, Time, WindowClause
from windowing.semantics.windows.policies import (
    Key,
    Observation,
    Operation,
    _Course,
    _Life,
    _Sliding,
    _Tumbling,
    _Tuple,
)

SECOND_US = 1_000_000
DEFAULT = "__default__"


def evaluate(clause: WindowClause, operations: Sequence[Operation]) -> list[Observation]:
    """What a window shows in the library."""
    course: _Course
    if clause.kind == "tumbling":
        course = _LibraryTumbling(clause, 0, empty=True)
    else:
        course = _LibrarySliding(clause, 0, empty=True)
    for step, operation in enumerate(operations):
        course.apply(step, operation)
    return course.shown


class _WholeSeconds(_Course):
    def _give_up_old(self) -> None:
        """D8: in whole seconds; one that is too old takes others with it that just are not."""
        policy = self._clause.partition_eviction
        if not isinstance(policy, PartitionAge) or self._clause.eviction == Count(0):
            return
        order = self._by_recency()
        age, now = policy.age_us // SECOND_US, self._now_us // SECOND_US
        updated = [self._lives[key].arrivals[-1].at_us // SECOND_US for key in order]
        if updated and updated[0] + age < now:
            self._give_up([key for key, at in zip(order, updated, strict=True) if at + age <= now])


class _LibraryTumbling(_WholeSeconds, _Tumbling):
    def _pass_time(self, to_us: int) -> None:
        """D4, D5: one timer for the window, which flushes all partitions, or one that is not."""
        eviction = self._clause.eviction
        if not isinstance(eviction, Time):
            return
        first = self._now_us // eviction.period_us + 1
        for number in range(first, to_us // eviction.period_us + 1):
            self._now_us = number * eviction.period_us
            self._give_up_old()
            flushed = list(self._lives)
            for key in flushed:
                self._flush(key, ends=True)
            if not flushed:
                self._show("flush", DEFAULT if self._clause.partition_by else None, [])


class _LibrarySliding(_WholeSeconds, _Sliding):
    def __init__(self, clause: WindowClause, began_us: int, *, empty: bool) -> None:
        super().__init__(clause, began_us, empty=empty)
        # Partitions that time has emptied: not in the map, but their counters and marks survive.
        self._gone: dict[Key, _Life] = {}
        self._aged = False

    def _insert(self, arrival: _Tuple) -> None:
        """D3: a partition returns; D2: a window by time is full at its first tuple."""
        self._give_up_old()
        self._aged = True  # a partition that returns is as old as its new tuple
        key, before = self._key(arrival.row), len(self.shown)
        if key in self._gone:
            self._lives[key] = self._gone.pop(key)
        elif isinstance(self._clause.eviction, Time) and key not in self._lives:
            self._show("initialFull", key, [])
        super()._insert(arrival)
        self._aged = False
        if isinstance(self._clause.eviction, Time) and key in self._lives:
            self._lives[key].full = True
        if isinstance(self._clause.eviction, Delta) and isinstance(self._clause.trigger, Delta):
            self._report_first(before)

    def _give_up_old(self) -> None:
        if not self._aged:
            super()._give_up_old()

    def _report_first(self, before: int) -> None:
        """D1: the report precedes the mark that the window is full."""
        kinds = [one.kind for one in self.shown[before:]]
        if kinds[:2] == ["initialFull", "trigger"]:
            full, trigger = self.shown[before : before + 2]
            self.shown[before : before + 2] = [trigger, full]

    def _tick(self) -> None:
        """D5: without partitions, one that is not reports."""
        super()._tick()
        if not self._lives and self._clause.partition_by:
            self._show("trigger", DEFAULT, [])

    def _expire(self, at_us: int) -> None:
        super()._expire(at_us)
        for key in [key for key, life in self._lives.items() if not self._stored(life)]:
            self._gone[key] = self._lives.pop(key)
