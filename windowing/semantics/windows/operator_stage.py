"""One operator of a query, by definition: what it sends for all of its input.

What a window shows is derived from its history (`policies`); an operator says what of it is sent.
Source: Gedik 2014, section 6.1; `spl.md` 10.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from windowing.model.operators.steps import (
    AggregateStep,
    Condition,
    DedupStep,
    SortStep,
    UserStep,
    WindowStep,
)
from windowing.model.rows import Key, Scalar
from windowing.model.user import user_operator
from windowing.model.windows.policy import Delta, Policy, WindowClause
from windowing.semantics.lanes import Progress
from windowing.semantics.units import Item
from windowing.semantics.windows.history import Advance, Insert, Mark, Observation, Operation
from windowing.semantics.windows.joins import compared
from windowing.semantics.windows.policies import evaluate

_TIME: Final = "\0time"
"""The attribute of a tuple that is its event time; no field has this name."""

Cause = Item | Progress
"""Why something is sent: for a record, or by the clock, which has to show this instant; infinity:
the end of the stream."""


@dataclass(frozen=True)
class StageOutput:
    """What an operator sends at an instant.

    Attributes:
        items: the records of a tuple; empty: a window punctuation.
        cause: why it is sent.
        values: what a user's operator shows.
        failed: why its handler has no values to show; None: it has not failed.
    """

    at_us: int
    items: tuple[Item, ...]
    cause: Cause
    values: Mapping[str, Scalar] | None = None
    failed: str | None = None


class Stage:
    """One operator, and all of its input.

    Args:
        punctuated: the condition after whose tuples its input has window punctuations; None: the
            input's own punctuations reach it.
        event_time: the field of the event time.
        stream: the input.
    """

    def __init__(
        self,
        step: WindowStep,
        punctuated: Condition | None,
        event_time: str,
        stream: Sequence[StageOutput],
    ) -> None:
        self._step, self._punctuated, self._stream = step, punctuated, stream
        self._event_time = event_time
        self._clause = _timed(step.window, event_time)
        # Tuples by their number in what the window shows, and by the operation that inserts them.
        self._tuples: dict[int, Item] = {}
        self._inserted: dict[int, Item] = {}
        # What each operation is caused by; None: by the clock.
        self._causes: list[Cause | None] = []

    def sends(self, began_us: int, until_us: int, *, ended: bool) -> list[StageOutput]:
        """Return what it sends.

        Args:
            began_us: the instant of the unit's first record.
            until_us: what the clock shows in the end.
            ended: whether the stream has ended by then.
        """
        # An empty window makes no rows, and its punctuations end no window that has any.
        operations, beside = self._operations(until_us), isinstance(self._step, UserStep)
        shown = evaluate(self._clause, operations, began_us, empty=False, beside=beside)
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

        def add(operation: Operation, cause: Cause | None) -> None:
            operations.append(operation)
            self._causes.append(cause)

        for sent in self._stream:
            add(Advance(sent.at_us), None)
            if not sent.items:
                # A port that generates punctuations forwards none (3.4).
                if self._punctuated is None:
                    add(Mark(), sent.cause)
                continue
            (item,) = sent.items
            self._tuples[len(self._tuples) + 1] = self._inserted[len(operations)] = item
            add(Insert({**item.fields, _TIME: item.value}), sent.cause)
            if self._punctuated is not None and _fulfils(self._punctuated, item):
                add(Mark(), sent.cause)
        add(Advance(until_us), None)
        return operations

    def _sent(
        self,
        one: Observation,
        items: Sequence[Item] = (),
        values: Mapping[str, Scalar] | None = None,
    ) -> StageOutput:
        cause = self._causes[one.step]
        if cause is None:
            # Evictions by time happen just after their instant, and what they fill with them.
            cause = one.at_us + (one.kind in ("evict", "initialFull"))
        return StageOutput(one.at_us, tuple(items), cause, values)

    def _items(self, numbers: Sequence[int]) -> list[Item]:
        return [self._tuples[number] for number in numbers]

    def _value(self, item: Item, name: str) -> Scalar:
        return item.value if name == self._event_time else item.fields[name]

    # --- Aggregate ----------------------------------------------------------------------------

    def _aggregated(
        self, step: AggregateStep, shown: Sequence[Observation]
    ) -> Iterator[StageOutput]:
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
                    yield self._sent(one)

    def _groups(self, step: AggregateStep, one: Observation) -> Iterator[StageOutput]:
        groups: dict[Key, list[Item]] = defaultdict(list)
        for item in self._items(one.tuples):
            groups[tuple(item.fields[name] for name in step.group_by)].append(item)
        for items in groups.values():
            yield self._sent(one, items)
        yield self._sent(one)

    # --- Sort ---------------------------------------------------------------------------------

    def _sorted(self, step: SortStep, shown: Sequence[Observation]) -> Iterator[StageOutput]:
        for one in shown:
            if one.kind in ("flush", "emptyWindowPunct"):
                for item in self._in_order(step, self._items(one.tuples)):
                    yield self._sent(one, [item])
                yield self._sent(one)

    def _smallest(
        self, step: SortStep, shown: Sequence[Observation], final_us: int | None
    ) -> list[StageOutput]:
        """Return for each tuple that leaves the smallest that was not sent; at the end, all."""
        unsent: dict[Any, list[Item]] = {}
        sent = list[StageOutput]()
        for one in shown:
            match one.kind:
                case "insert":
                    unsent.setdefault(one.key, []).extend(self._items(one.tuples))
                case "evict" if unsent.get(one.key):
                    least = self._in_order(step, unsent[one.key])[0]
                    unsent[one.key].remove(least)
                    sent.append(self._sent(one, [least]))
                case "victim":
                    unsent.pop(one.key, None)
        if final_us is not None:
            for items in unsent.values():
                sent += [
                    StageOutput(final_us, (item,), math.inf) for item in self._in_order(step, items)
                ]
        return sent

    def _in_order(self, step: SortStep, items: Sequence[Item]) -> list[Item]:
        """Return tuples in the order of Sort: null first, equal ones in order of arrival."""
        ordered = list(items)
        for name, direction in reversed(step.by):
            ordered.sort(key=partial(self._null_first, name), reverse=direction == "descending")
        return ordered

    def _null_first(self, name: str, item: Item) -> tuple[bool, Any]:
        value = self._value(item, name)
        return value is not None, value

    # --- Dedup --------------------------------------------------------------------------------

    def _first(self, step: DedupStep, shown: Sequence[Observation]) -> Iterator[StageOutput]:
        for one in shown:
            if one.kind == "trigger":
                newest = self._inserted[one.step]
                others = [item for item in self._items(one.tuples) if item is not newest]
                if not any(self._equal(step, newest, item) for item in others):
                    yield self._sent(one, [newest])

    def _equal(self, step: DedupStep, one: Item, other: Item) -> bool:
        return all(self._value(one, name) == self._value(other, name) for name in step.by)

    # --- users' operators ---------------------------------------------------------------------

    def _handled(self, step: UserStep, shown: Sequence[Observation]) -> Iterator[StageOutput]:
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
            try:
                sent = user_operator.send(
                    step.reference, step.settings, step.outputs, name, arguments
                )
            except user_operator.UserOperatorError as error:
                # What it had sent until then is no result.
                yield replace(self._sent(one, rows), failed=str(error))
                continue
            for values in sent:
                yield self._sent(one, rows, values)


_HANDLERS: Final = {
    "insert": "on_insert",
    "evict": "on_evict",
    "trigger": "on_trigger",
    "flush": "on_flush",
    "initialFull": "on_full",
    "victim": "on_partition_eviction",
}


def _fulfils(condition: Condition, item: Item) -> bool:
    return compared(condition.comparator, item.fields[condition.field], condition.constant)


def _timed(clause: WindowClause, event_time: str) -> WindowClause:
    """Return the window with differences of event times in microseconds."""

    def timed(policy: Policy) -> Policy:
        if isinstance(policy, Delta) and policy.attribute == event_time:
            return Delta(_TIME, policy.threshold)
        return policy

    trigger = None if clause.trigger is None else timed(clause.trigger)
    return replace(clause, eviction=timed(clause.eviction), trigger=trigger)
