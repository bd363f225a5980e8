"""One operator of a hosted chain, with its clock and its input: tuples made of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import polars as pl

from windowing.engine.columns import AT, OFFSET, PARTITION, VALUES, field_column, field_of
from windowing.engine.effects import took_effect
from windowing.engine.rows.flows.joined import compared
from windowing.engine.rows.operators import Aggregate, Dedup, Output, PortOutput, Punctuation, Sort
from windowing.engine.rows.operators.operator import Operator, Tuple
from windowing.engine.rows.operators.user import Handle, HandlerOperator
from windowing.engine.rows.policies import ManualClock, Marker
from windowing.engine.rows.policies.events import Key
from windowing.model.operators.steps import (
    AggregateStep,
    Condition,
    DedupStep,
    SortStep,
    UserStep,
    WindowStep,
)
from windowing.model.user import user_operator
from windowing.model.windows.policy import Delta, Policy, Time, WindowClause

ROW: Final = "row"
"""The attribute by which a tuple names its record: a row of the step's table of records."""

Place = tuple[int, int]
"""What names a record forever: its lane's partition, and its offset."""

Scalar = int | float | str | None

# The garbage collector does not visit dicts of scalars, which there are many of.
RecordTuple = dict[str, Any]


def tuples(records: pl.DataFrame, columns: Sequence[str], first: int) -> Iterator[RecordTuple]:
    """Return records as tuples of operators.

    Args:
        columns: those that operators read.
        first: the row of the first record in the step's table.
    """
    numbered = records.select(pl.int_range(first, first + pl.len()).alias(ROW), *columns)
    return numbered.iter_rows(named=True)


def places(records: pl.DataFrame) -> list[Place]:
    """Return the places of records."""
    return list(zip(records[PARTITION].to_list(), records[OFFSET].to_list(), strict=True))


def shown(row: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return a tuple's fields by name, as users' operators see them."""
    fields = ((field_of(column), value) for column, value in row.items())
    return {field: value for field, value in fields if field is not None}


Take = Callable[[PortOutput, int], None]
"""Receives what an operator sends, and the instant of its clock."""


class Stage:
    """An operator, and the punctuations that its input gets.

    Args:
        punctuated: the condition after whose tuples its input has window punctuations, if any.
        began_us: the instant of the unit's first record.
    """

    def __init__(
        self,
        step: WindowStep,
        punctuated: Condition | None,
        event_time: str,
        began_us: int,
        take: Take,
    ) -> None:
        self._punctuated, self._timed = punctuated, needs_clock(step.window)
        self._clock = ManualClock(_phase(step.window, began_us))
        self._operator = _open(
            step, event_time, lambda sent: take(sent, self._clock.now_us), self._clock
        )

    def take(self, sent: PortOutput, now_us: int) -> None:
        """Process a tuple or a punctuation from before, at an instant."""
        if isinstance(sent.item, Punctuation):
            self.tick(now_us)
            # A port that generates punctuations forwards none.
            if self._punctuated is None:
                self._operator.punctuate(Marker.window)
        else:
            self.insert(sent.item, now_us)

    def insert(self, row: Tuple, now_us: int) -> None:
        """Process a tuple at an instant."""
        self.tick(now_us)
        self._operator.insert(row)
        if self._punctuated is not None and fulfils(self._punctuated, row):
            self._operator.punctuate(Marker.window)

    def tick(self, now_us: int) -> None:
        """Do everything due up to an instant."""
        if self._timed:
            self._operator.tick(now_us)
        else:
            self._clock.wait_until(now_us)

    def finish(self) -> None:
        """Process the end of the stream."""
        self._operator.punctuate(Marker.final)

    def next_due_us(self) -> int | None:
        """Return an instant before which nothing is due by the clock; None: nothing ever is."""
        return self._operator.next_due_us()

    def snapshot(self) -> dict[str, Any]:
        """Return the operator's state."""
        return self._operator.snapshot()

    def restore(self, snapshot: dict[str, Any], now_us: int) -> None:
        """Restore a snapshot, taken at an instant."""
        self._clock.now_us = now_us
        self._operator.restore(snapshot, timers=True)


def needs_clock(window: WindowClause) -> bool:
    """Return whether something may become due in a window without a tuple."""
    return isinstance(window.eviction, Time) or isinstance(window.trigger, Time)


def fulfils(condition: Condition, row: Any) -> bool:
    """Return whether a tuple fulfils a condition; null does not."""
    return compared(condition.comparator, row[field_column(condition.field)], condition.constant)


def _open(
    step: WindowStep, event_time: str, send: Callable[[PortOutput], None], clock: ManualClock
) -> Operator:
    window = _over_columns(step.window, event_time)
    match step:
        case AggregateStep():
            return Aggregate(
                window,
                {ROW: Output("Collect", (ROW,))},
                send,
                group_by=[field_column(name) for name in step.group_by],
                # Absent where the window has no such choice, as the operator's model wants it.
                partial_windows=step.partial_windows or None,
                evicted_partitions=step.evicted_partitions or None,
                clock=clock,
            )
        case SortStep():
            by = [column_of(name, event_time) for name, _ in step.by]
            return Sort(window, by, send, order=[order for _, order in step.by], clock=clock)
        case DedupStep():
            compared = [column_of(name, event_time) for name in step.by]
            return Dedup(window, compared, send, clock=clock)
    made = user_operator.load(step.reference, step.settings)
    return HandlerOperator(window, user_operator.handled(made), _calling(step), send, clock=clock)


def _calling(step: UserStep) -> Handle:
    """Return what calls a handler of a user's class, and says which records it saw.

    A call that fails sends one tuple without values, whatever it has sent until then.
    """

    def handle(name: str, key: Key, rows: Sequence[Tuple], row: Tuple | None) -> Iterable[Tuple]:
        partition = key if isinstance(key, tuple) else ()
        seen = [shown(one) for one in rows]
        arguments: list[Any] = [partition, *([] if row is None else [shown(row)]), seen]
        records = [one[ROW] for one in rows]
        sent: Sequence[Mapping[str, Scalar] | None]
        try:
            sent = user_operator.send(step.reference, step.settings, step.outputs, name, arguments)
        except user_operator.UserOperatorError:
            took_effect("failures of a handler", 1)
            sent = [None]
        for values in sent:
            yield {ROW: records, VALUES: values}

    return handle


def _over_columns(clause: WindowClause, event_time: str) -> WindowClause:

    def over(policy: Policy) -> Policy:
        if not isinstance(policy, Delta):
            return policy
        return Delta(column_of(policy.attribute, event_time), policy.threshold)

    return replace(
        clause,
        eviction=over(clause.eviction),
        trigger=None if clause.trigger is None else over(clause.trigger),
        partition_by=tuple(field_column(name) for name in clause.partition_by),
    )


def column_of(name: str, event_time: str) -> str:
    """Return the column of a field; that of the event time has the instant, not the raw value."""
    return AT if name == event_time else field_column(name)


def _phase(clause: WindowClause, began_us: int) -> int:
    """Return the instant from which a window's timer counts: its periods are whole since 1970."""
    policy = clause.trigger if clause.kind == "sliding" else clause.eviction
    if not isinstance(policy, Time):
        return began_us
    return began_us // policy.period_us * policy.period_us
