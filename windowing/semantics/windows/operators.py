"""Queries of operators, by definition: the rows that a log gives under a chain of operators.

The records of a unit are the operations on the first operator's window; what it sends are those on
the next one's. What a window shows is derived from its history (`policies`). Source: Gedik 2014,
section 6; `spl.md` 10; order, clock and rows: `windowing/adr/0022`.
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import (
    AggregateStep,
    Condition,
    DedupStep,
    Punctuate,
    SortStep,
    UserStep,
    WindowStep,
)
from windowing.model.rows import Key, Scalar
from windowing.model.user import user_operator
from windowing.model.windows.policy import Delta, Policy, WindowClause
from windowing.semantics.lanes import Lane, Progress
from windowing.semantics.units import Item, Lateness, OutsideReason
from windowing.semantics.windows.policies import Advance, Insert, Mark, Operation, Shown, evaluate

_TIME: Final = "\0time"
"""The attribute of a tuple that is its event time; no field has this name."""

_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Sent:
    """What an operator sends at an instant.

    Attributes:
        at_us: the instant.
        items: the records of a tuple; empty: a window punctuation.
        values: what a user's operator shows.
    """

    at_us: int
    items: tuple[Item, ...]
    values: Mapping[str, Scalar] | None = None


@dataclass(frozen=True)
class ReportedRow:
    """One row of a query of operators.

    Attributes:
        number: of its report within the unit.
        key: the row's key.
        items: its records, in canonical order.
        values: what a user's operator shows; None: what follows from the records.
    """

    number: int
    key: Key
    items: tuple[Item, ...]
    values: Mapping[str, Scalar] | None


@dataclass(frozen=True)
class OperatorDefinition:
    """What becomes of each record.

    Attributes:
        query: the query.
    """

    query: OperatorQuery

    def takes(self, item: Item) -> bool:
        """Return whether operators process a record."""
        return self.lateness(item) is None

    def lateness(self, item: Item) -> Lateness | None:
        """Return the lateness: progress had passed the record; in lane order, never."""
        late = self.query.order == "canonical" and item.progress > item.value
        return Lateness(whole=True) if late else None

    def outside(self, value: int) -> OutsideReason | None:
        """Return None: operators process all records that are not late."""
        del value
        return None


def reported(
    query: OperatorQuery, event_time: str, items: Sequence[Item], lanes: Sequence[Lane]
) -> list[ReportedRow]:
    """Return the rows that a log gives.

    Args:
        query: the query.
        event_time: the field of the event time.
        items: all valid records.
        lanes: the lanes at the end of the log.
    """
    taken = [item for item in items if OperatorDefinition(query).takes(item)]
    rows = list[ReportedRow]()
    if query.order == "lane":
        for lane in lanes:
            own = [item for item in taken if item.lane == lane.name]
            own.sort(key=lambda item: item.offset)
            ends = lane.progress == math.inf
            rows += _units(query, event_time, own, None, ended=ends)
        return rows
    progress = min(lane.progress for lane in lanes)
    ended = progress == math.inf
    passed = sorted(
        (item for item in taken if item.value < progress), key=lambda item: item.canonical
    )
    until = max(lane.furthest for lane in lanes) if ended else progress
    return _units(query, event_time, passed, until, ended=ended)


def _units(
    query: OperatorQuery,
    event_time: str,
    items: Sequence[Item],
    until_us: Progress | None,
    *,
    ended: bool,
) -> list[ReportedRow]:
    """Return the rows of all units of some records, in the order in which they are processed."""
    units: dict[Key, list[Item]] = defaultdict(list)
    for item in items:
        units[tuple(item.fields[name] for name in query.unit)].append(item)
    rows = list[ReportedRow]()
    for own in units.values():
        rows += _numbered(query, _sent_by(query, event_time, own, until_us, ended=ended))
    return rows


def _sent_by(
    query: OperatorQuery,
    event_time: str,
    items: Sequence[Item],
    until_us: Progress | None,
    *,
    ended: bool,
) -> list[Sent]:
    """Return what the last operator of a unit sends."""
    stream, now_us = list[Sent](), items[0].value
    for item in items:
        now_us = max(now_us, item.value)
        stream.append(Sent(now_us, (item,)))
    began_us = items[0].value
    if until_us is not None and until_us > now_us:
        now_us = int(until_us)
    condition: Condition | None = None
    for step in query.steps:
        if isinstance(step, Punctuate):
            condition = step.when
            continue
        stream = _Stage(step, condition, event_time, stream).sends(began_us, now_us, ended=ended)
        condition = None
    return stream


def _numbered(query: OperatorQuery, sent: Sequence[Sent]) -> Iterator[ReportedRow]:
    """Number reports: those of aggregates with all their groups, tuples one by one."""
    grouped, number, reporting = isinstance(query.last, AggregateStep), 0, False
    for one in sent:
        if not one.items:
            number += reporting
            reporting = False
            continue
        first = one.items[0]
        lane = (first.lane,) if query.order == "lane" else ()
        key = (*lane, *(first.fields[name] for name in query.key_fields))
        items = tuple(sorted(one.items, key=lambda item: item.canonical))
        yield ReportedRow(number, key, items, one.values)
        if grouped:
            reporting = True
        else:
            number += 1


class _Stage:
    """One operator, and all of its input."""

    def __init__(
        self,
        step: WindowStep,
        punctuated: Condition | None,
        event_time: str,
        stream: Sequence[Sent],
    ) -> None:
        self._step, self._punctuated, self._stream = step, punctuated, stream
        self._clause = _timed(step.window, event_time)
        # Tuples by their number in what the window shows, and by the operation that inserts them.
        self._tuples: dict[int, Item] = {}
        self._inserted: dict[int, Item] = {}

    def sends(self, began_us: int, until_us: int, *, ended: bool) -> list[Sent]:
        """Return what it sends."""
        shown = evaluate(self._clause, self._operations(until_us), began_us)
        match self._step:
            case AggregateStep():
                return list(self._aggregated(self._step, shown))
            case SortStep():
                if self._clause.kind == "tumbling":
                    return list(self._sorted(self._step, shown))
                return self._smallest(self._step, shown, until_us if ended else None)
            case DedupStep():
                return list(self._first(self._step, shown))
        return list(self._handled(self._step, shown))

    def _operations(self, until_us: int) -> list[Operation]:
        operations = list[Operation]()
        for sent in self._stream:
            operations.append(Advance(sent.at_us))
            if not sent.items:
                operations.append(Mark())
                continue
            (item,) = sent.items
            self._tuples[len(self._tuples) + 1] = self._inserted[len(operations)] = item
            operations.append(Insert({**item.fields, _TIME: item.value}))
            if self._punctuated is not None and _fulfils(self._punctuated, item):
                operations.append(Mark())
        return [*operations, Advance(until_us)]

    def _items(self, numbers: Sequence[int]) -> list[Item]:
        return [self._tuples[number] for number in numbers]

    # --- Aggregate ----------------------------------------------------------------------------

    def _aggregated(self, step: AggregateStep, shown: Sequence[Shown]) -> Iterator[Sent]:
        full = set[Any]()
        for one in shown:
            match one.kind:
                case "initialFull":
                    full.add(one.key)
                case "flush":
                    yield from self._groups(step, one)
                case "trigger" if step.partial_windows or one.key in full:
                    yield from self._groups(step, one)
                case "victim":
                    full.discard(one.key)
                    if step.evicted_partitions:
                        yield from self._groups(step, one)
                case "emptyWindowPunct":
                    yield Sent(one.at_us, ())

    def _groups(self, step: AggregateStep, one: Shown) -> Iterator[Sent]:
        groups: dict[Key, list[Item]] = defaultdict(list)
        for item in self._items(one.tuples):
            groups[tuple(item.fields[name] for name in step.group_by)].append(item)
        for items in groups.values():
            yield Sent(one.at_us, tuple(items))
        yield Sent(one.at_us, ())

    # --- Sort ---------------------------------------------------------------------------------

    def _sorted(self, step: SortStep, shown: Sequence[Shown]) -> Iterator[Sent]:
        for one in shown:
            if one.kind in ("flush", "emptyWindowPunct"):
                for item in _in_order(step, self._items(one.tuples)):
                    yield Sent(one.at_us, (item,))
                yield Sent(one.at_us, ())

    def _smallest(self, step: SortStep, shown: Sequence[Shown], final_us: int | None) -> list[Sent]:
        """Return for each tuple that leaves the smallest that was not sent; at the end, all."""
        unsent: dict[Any, list[Item]] = {}
        sent = list[Sent]()
        for one in shown:
            match one.kind:
                case "insert":
                    unsent.setdefault(one.key, []).extend(self._items(one.tuples))
                case "evict" if unsent.get(one.key):
                    least = _in_order(step, unsent[one.key])[0]
                    unsent[one.key].remove(least)
                    sent.append(Sent(one.at_us, (least,)))
                case "victim":
                    unsent.pop(one.key, None)
        if final_us is not None:
            for items in unsent.values():
                sent += [Sent(final_us, (item,)) for item in _in_order(step, items)]
        return sent

    # --- Dedup --------------------------------------------------------------------------------

    def _first(self, step: DedupStep, shown: Sequence[Shown]) -> Iterator[Sent]:
        for one in shown:
            if one.kind == "trigger":
                newest = self._inserted[one.step]
                same = [newest.fields[name] for name in step.by]
                others = [item for item in self._items(one.tuples) if item is not newest]
                if all([item.fields[name] for name in step.by] != same for item in others):
                    yield Sent(one.at_us, (newest,))

    # --- users' operators ---------------------------------------------------------------------

    def _handled(self, step: UserStep, shown: Sequence[Shown]) -> Iterator[Sent]:
        handlers = user_operator.handled(user_operator.load(step.reference, step.settings))
        for one in shown:
            name = _HANDLERS.get(one.kind)
            single = one.kind in ("insert", "evict")
            rows = self._items(one.stored if single else one.tuples)
            if name not in handlers or name is None or not rows:
                continue
            key = one.key if isinstance(one.key, tuple) else ()
            row = [dict(self._tuples[one.tuples[0]].fields)] if single else []
            arguments = [key, *row, [dict(item.fields) for item in rows]]
            for values in user_operator.send(
                step.reference, step.settings, step.outputs, name, arguments
            ):
                yield Sent(one.at_us, tuple(rows), values)


_HANDLERS: Final = {
    "insert": "on_insert",
    "evict": "on_evict",
    "trigger": "on_trigger",
    "flush": "on_flush",
    "initialFull": "on_full",
    "victim": "on_partition_eviction",
}


def _in_order(step: SortStep, items: Sequence[Item]) -> list[Item]:
    """Return tuples in the order of Sort: null first, equal ones in order of arrival."""
    ordered = list(items)
    for name, direction in reversed(step.by):
        ordered.sort(
            key=partial(_null_first, name),
            reverse=direction == "descending",
        )
    return ordered


def _null_first(name: str, item: Item) -> tuple[bool, Any]:
    return item.fields[name] is not None, item.fields[name]


def _fulfils(condition: Condition, item: Item) -> bool:
    value = item.fields[condition.field]
    return value is not None and _COMPARE[condition.comparator](value, condition.constant)


def _timed(clause: WindowClause, event_time: str) -> WindowClause:
    """Return the window with differences of event times in microseconds."""

    def timed(policy: Policy) -> Policy:
        if isinstance(policy, Delta) and policy.attribute == event_time:
            return Delta(_TIME, policy.threshold)
        return policy

    trigger = None if clause.trigger is None else timed(clause.trigger)
    return replace(clause, eviction=timed(clause.eviction), trigger=trigger)
