"""Policy windows, by definition: what a window shows when it flushes or reports.

A partition's content is not maintained but derived from its history each time. A partition's *life*
runs from its first tuple to its partition eviction; count, reference and the mark that it was full
belong to a life. The rules are the paper's (Gedik 2014, Tables I and II; `spl.md` 4); times are
integer microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from windowing.model.windows.policy import (
    Count,
    Delta,
    PartitionAge,
    PartitionCount,
    Punct,
    Selection,
    Time,
    WindowClause,
)
from windowing.semantics.windows.history import (
    Insert,
    Key,
    Kind,
    Mark,
    Observation,
    Operation,
    Row,
)


@dataclass(eq=False)
class _Tuple:
    number: int
    row: Row
    at_us: int


@dataclass
class _Life:
    """The history of a partition since its last eviction.

    Attributes:
        arrivals: all tuples of the life, still stored or not.
        flushed: how many of them have been flushed.
        left: those that neither time nor a delta evicted, in order of arrival.
        reference: that of a delta trigger.
        full: whether the window was ever full in this life.
    """

    arrivals: list[_Tuple] = field(default_factory=list)
    flushed: int = 0
    left: list[_Tuple] = field(default_factory=list)
    reference: _Tuple | None = None
    full: bool = False

    def add(self, arrival: _Tuple) -> None:
        """Note that a tuple arrives."""
        self.arrivals.append(arrival)
        self.left.append(arrival)


def evaluate(
    clause: WindowClause,
    operations: Sequence[Operation],
    began_us: int = 0,
    *,
    empty: bool = True,
    beside: bool = False,
) -> list[Observation]:
    """Return what a window shows, in order; at one instant, partitions in that of their creation.

    Args:
        began_us: the instant before them; timers fire at whole multiples of their period.
        empty: also what timers show of a window without any tuple, at each of their instants.
        beside: with each tuple that is stored or leaves, all stored ones: as many as the window
            has, for every tuple of the log.
    """
    course: _Course
    if clause.kind == "tumbling":
        course = _Tumbling(clause, began_us, empty=empty, beside=beside)
    else:
        course = _Sliding(clause, began_us, empty=empty, beside=beside)
    for step, operation in enumerate(operations):
        course.apply(step, operation)
    return course.shown


class _Course:
    def __init__(
        self, clause: WindowClause, began_us: int, *, empty: bool, beside: bool = False
    ) -> None:
        self._clause, self._now_us = clause, began_us
        self._empty, self._beside = empty, beside
        self._lives: dict[Key, _Life] = {}
        self._numbers = self._step = 0
        self.shown: list[Observation] = []

    def apply(self, step: int, operation: Operation) -> None:
        """Apply one operation."""
        self._step = step
        if isinstance(operation, Insert):
            self._numbers += 1
            self._insert(_Tuple(self._numbers, operation.row, self._now_us))
        elif isinstance(operation, Mark):
            self._mark()
        else:
            self._pass_time(operation.to_us)
            self._now_us = operation.to_us

    def _insert(self, arrival: _Tuple) -> None:
        raise NotImplementedError

    def _mark(self) -> None:
        raise NotImplementedError

    def _pass_time(self, to_us: int) -> None:
        raise NotImplementedError

    def _stored(self, life: _Life) -> list[_Tuple]:
        raise NotImplementedError

    def _size(self, life: _Life) -> int:
        return len(self._stored(life))

    def _show(
        self, kind: Kind, key: Any, tuples: Sequence[_Tuple], of: _Life | None = None
    ) -> None:
        stored = self._stored(of) if of is not None and self._beside else []
        numbers, beside = ([arrival.number for arrival in some] for some in (tuples, stored))
        self.shown.append(
            Observation(self._step, self._now_us, kind, key, tuple(numbers), tuple(beside))
        )

    def _key(self, row: Row) -> Key:
        by = self._clause.partition_by
        return tuple(row[name] for name in by) if by else None

    # --- partition eviction (3.5) -------------------------------------------------------------

    def _give_up_old(self) -> None:
        policy = self._clause.partition_eviction
        # Only inserts refresh a partition's age, and a window of count(0) has none.
        if isinstance(policy, PartitionAge) and self._clause.eviction != Count(0):
            old = [
                key
                for key in self._by_recency()
                if self._now_us - self._lives[key].arrivals[-1].at_us > policy.age_us
            ]
            self._give_up(old)

    def _give_up_many(self) -> None:
        """Evict partitions after an insert until the policy holds, in at most two passes."""
        policy = self._clause.partition_eviction
        if policy is None or isinstance(policy, PartitionAge):
            return
        for selection in (policy.selection, Selection.lru):
            order = self._order(selection)
            if isinstance(policy, PartitionCount):
                self._give_up(order[: max(0, len(order) - policy.size)])
                continue
            sizes = {key: self._size(self._lives[key]) for key in order}
            if sum(sizes.values()) > policy.size:
                first = next(n for n, key in enumerate(order) if sizes[key])
                self._give_up(order[: first + 1])

    def _by_recency(self) -> list[Key]:
        return sorted(self._lives, key=lambda key: self._lives[key].arrivals[-1].number)

    def _order(self, selection: Selection) -> list[Key]:
        order = self._by_recency()
        if selection is Selection.lfu:
            order.sort(key=lambda key: len(self._lives[key].arrivals))
        if selection is Selection.oldest:
            order.sort(key=lambda key: self._lives[key].arrivals[0].at_us)
        return order

    def _give_up(self, victims: Sequence[Key]) -> None:
        if victims:
            self._show("partitionEviction", tuple(victims), [])
            for key in victims:
                self._show("victim", key, self._stored(self._lives[key]))
            for key in victims:
                del self._lives[key]


class _Tumbling(_Course):
    """Table I."""

    def __init__(
        self, clause: WindowClause, began_us: int, *, empty: bool, beside: bool = False
    ) -> None:
        super().__init__(clause, began_us, empty=empty, beside=beside)
        # When a partition's period began; an unpartitioned window's has always begun.
        self._begun_us: dict[Key, int] = {}
        if isinstance(clause.eviction, Time) and not clause.partition_by:
            self._begun_us[None] = began_us - began_us % clause.eviction.period_us

    def _stored(self, life: _Life) -> list[_Tuple]:
        return life.arrivals[life.flushed :]

    def _size(self, life: _Life) -> int:
        return len(life.arrivals) - life.flushed

    def _insert(self, arrival: _Tuple) -> None:
        eviction = self._clause.eviction
        if eviction == Count(0):
            return
        self._give_up_old()
        key = self._key(arrival.row)
        life = self._lives.get(key)
        if isinstance(eviction, Delta) and life is not None and self._size(life):
            first = life.arrivals[life.flushed]
            if _crossed(eviction, arrival, first):
                self._flush(key, ends=False)
        life = self._lives.setdefault(key, _Life())
        life.arrivals.append(arrival)
        self._show("insert", key, [arrival], life)
        self._begun_us.setdefault(key, self._now_us)
        self._give_up_many()
        if key in self._lives and eviction == Count(self._size(self._lives[key])):
            self._flush(key, ends=True)

    def _flush(self, key: Key, *, ends: bool) -> None:
        life = self._lives[key]
        self._show("flush", key, self._stored(life))
        life.flushed = len(life.arrivals)
        if ends:
            del self._lives[key]

    def _give_up(self, victims: Sequence[Key]) -> None:
        super()._give_up(victims)
        if self._clause.partition_by:
            for key in victims:
                self._begun_us.pop(key, None)

    def _mark(self) -> None:
        if not isinstance(self._clause.eviction, Punct):
            return
        if not self._lives:
            self._show("emptyWindowPunct", None, [])
            return
        self._give_up_old()
        for key in list(self._lives):
            self._flush(key, ends=True)

    def _pass_time(self, to_us: int) -> None:
        eviction = self._clause.eviction
        if not isinstance(eviction, Time):
            return
        while True:
            due = [(us + eviction.period_us, key) for key, us in self._begun_us.items()]
            first = min(due, key=lambda pair: pair[0], default=None)
            if first is None or first[0] > to_us:
                return
            if not self._lives and not self._clause.partition_by and not self._empty:
                self._begun_us[None] = to_us - to_us % eviction.period_us
                return
            self._now_us, key = first
            del self._begun_us[key]
            self._give_up_old()
            if key in self._lives:
                self._flush(key, ends=True)
                self._begun_us[key] = self._now_us
            elif not self._clause.partition_by:
                self._show("flush", None, [])
                self._begun_us[None] = self._now_us


class _Sliding(_Course):
    """Table II."""

    def _stored(self, life: _Life) -> list[_Tuple]:
        eviction = self._clause.eviction
        if isinstance(eviction, Count):
            return life.arrivals[-eviction.size :] if eviction.size else []
        return list(life.left)

    def _size(self, life: _Life) -> int:
        eviction = self._clause.eviction
        if isinstance(eviction, Count):
            return min(eviction.size, len(life.arrivals))
        return len(life.left)

    def _insert(self, arrival: _Tuple) -> None:
        self._give_up_old()
        key = self._key(arrival.row)
        life = self._lives.get(key, _Life())
        eviction, trigger = self._clause.eviction, self._clause.trigger
        leaving = _driven_out(eviction, arrival, life)
        reports = self._reports(life, arrival)
        if isinstance(eviction, Delta) and leaving:
            self._fill(key, life)
        # A delta report precedes the tuple and the evictions it causes; other reports follow them.
        if isinstance(trigger, Delta) and reports:
            self._show("trigger", key, self._stored(life))
        self._evict(key, life, leaving)
        life.add(arrival)
        if life.reference is None or (isinstance(trigger, Delta) and reports):
            life.reference = arrival
        self._lives[key] = life
        if eviction != Count(0):
            self._show("insert", key, [arrival], life)
            self._give_up_many()
        if self._lives.get(key) is not life:
            return
        if isinstance(eviction, Count) and len(life.arrivals) == eviction.size:
            self._fill(key, life)
        if isinstance(trigger, Count) and reports:
            self._show("trigger", key, self._stored(life))

    def _evict(self, key: Key, life: _Life, leaving: Sequence[_Tuple]) -> None:
        for one in leaving:
            self._show("evict", key, [one], life)
            life.left.remove(one)

    def _reports(self, life: _Life, arrival: _Tuple) -> bool:
        trigger = self._clause.trigger
        if isinstance(trigger, Count):
            return trigger.size > 0 and (len(life.arrivals) + 1) % trigger.size == 0
        if not isinstance(trigger, Delta) or life.reference is None:
            return False
        return _crossed(trigger, arrival, life.reference)

    def _fill(self, key: Key, life: _Life) -> None:
        if not life.full:
            life.full = True
            self._show("initialFull", key, self._stored(life))

    def _mark(self) -> None:
        """Ignore punctuations."""

    def _pass_time(self, to_us: int) -> None:
        while due := sorted(self._instants(to_us)):
            self._now_us, expires = due[0]
            if expires:
                self._expire(self._now_us)
            elif self._empty or any(self._size(life) for life in self._lives.values()):
                self._tick()
            else:
                return

    def _instants(self, to_us: int) -> Iterator[tuple[int, bool]]:
        """Yield what is due next, up to an instant: a tick, and evictions, just after theirs."""
        eviction, trigger = self._clause.eviction, self._clause.trigger
        if isinstance(trigger, Time):
            tick_us = (self._now_us // trigger.period_us + 1) * trigger.period_us
            if tick_us <= to_us:
                yield tick_us, False
        if isinstance(eviction, Time):
            for life in self._lives.values():
                for oldest in life.left[:1]:
                    if oldest.at_us + eviction.period_us < to_us:
                        yield oldest.at_us + eviction.period_us, True

    def _tick(self) -> None:
        self._give_up_old()
        keys: Sequence[Key] = list(self._lives)
        if not self._clause.partition_by:
            keys = [None]
        for key in keys:
            self._show("trigger", key, self._stored(self._lives.get(key, _Life())))

    def _expire(self, at_us: int) -> None:
        eviction = self._clause.eviction
        assert isinstance(eviction, Time)  # noqa: S101 - only Time has due instants
        last_us = at_us - eviction.period_us
        for key, life in self._lives.items():
            old = list(takewhile(lambda one: one.at_us <= last_us, life.left))
            if old:
                self._fill(key, life)
            self._evict(key, life, old)


def _driven_out(eviction: object, new: _Tuple, life: _Life) -> list[_Tuple]:
    if isinstance(eviction, Count):
        full = 0 < eviction.size <= len(life.arrivals)
        return [life.arrivals[-eviction.size]] if full else []
    if isinstance(eviction, Delta):
        return [old for old in life.left if _crossed(eviction, new, old)]
    return []


def _crossed(policy: Delta, new: _Tuple, old: _Tuple) -> bool:
    return bool(new.row[policy.attribute] - old.row[policy.attribute] > policy.threshold)
