"""Queries of operators, by definition: the rows that a log gives under a chain of operators.

The records of a unit are the operations on the first operator's window; what it sends are those on
the next one's. What a window shows is derived from its history (`policies`). Source: Gedik 2014,
section 6; `spl.md` 10; order, clock and rows: `windowing/adr/0022`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep, Condition, Punctuate
from windowing.model.rows import Key, Scalar
from windowing.semantics.aggregates import refused_by
from windowing.semantics.lanes import Lane, Progress
from windowing.semantics.units import Item, Lateness
from windowing.semantics.windows.definition import FlowDefinition
from windowing.semantics.windows.operator_stage import Cause, Stage, StageOutput


@dataclass(frozen=True)
class ReportedRow:
    """One row of a query of operators.

    Attributes:
        number: of its report within the unit.
        items: its records, in canonical order.
        cause: why it is sent.
        values: what a user's operator shows; None: what follows from the records.
        failed: why a handler of it has no values to show; None: it has not failed.
    """

    number: int
    key: Key
    items: tuple[Item, ...]
    cause: Cause
    values: Mapping[str, Scalar] | None
    failed: str | None = None


@dataclass(frozen=True)
class OperatorDefinition(FlowDefinition):
    """What becomes of each record."""

    query: OperatorQuery

    def takes(self, item: Item) -> bool:
        """Return whether operators process a record."""
        return self.lateness(item) is None

    def lateness(self, item: Item) -> Lateness | None:
        """Return the lateness: progress had passed the record; in lane order, never."""
        late = self.query.order == "canonical" and item.progress > item.value
        return Lateness(whole=True) if late else None


@dataclass(frozen=True)
class OperatorUnit:
    """The records of a unit that its operators have processed.

    Attributes:
        items: in the order in which they are processed; at least one.
        until_us: what the clock shows in the end, if that is after the last record.
        ended: whether the stream (in lane order, the lane) has ended.
    """

    items: Sequence[Item]
    until_us: Progress
    ended: bool


def operator_units(
    query: OperatorQuery, items: Sequence[Item], lanes: Sequence[Lane]
) -> list[OperatorUnit]:
    """Return the units of a query, with what progress lets its operators process.

    Args:
        items: all valid records.
        lanes: the lanes at the end of the log.
    """
    taken = [
        item
        for item in items
        if OperatorDefinition(query).takes(item)
        and refused_by(query.aggregates, item.fields) is None
    ]
    if query.order == "lane":
        # The clock of a lane shows its records' times and nothing else.
        return [
            OperatorUnit(own, -math.inf, lane.progress == math.inf)
            for lane in lanes
            for own in _by_unit(query, [item for item in taken if item.lane == lane.name])
        ]
    progress = min(lane.progress for lane in lanes)
    passed = [item for item in taken if item.value < progress]
    ended = progress == math.inf
    until_us = max(lane.furthest for lane in lanes) if ended else progress
    passed.sort(key=lambda item: item.canonical)
    return [OperatorUnit(own, until_us, ended) for own in _by_unit(query, passed)]


def _by_unit(query: OperatorQuery, items: Sequence[Item]) -> list[list[Item]]:
    units: dict[Key, list[Item]] = defaultdict(list)
    for item in items:
        units[tuple(item.fields[name] for name in query.unit)].append(item)
    return [*units.values()]


def reported(query: OperatorQuery, event_time: str, unit: OperatorUnit) -> list[ReportedRow]:
    """Return the rows of a unit.

    Args:
        event_time: the field of the event time.
        unit: one of its units.
    """
    stream, now_us = list[StageOutput](), unit.items[0].value
    for item in unit.items:
        now_us = max(now_us, item.value)
        stream.append(StageOutput(now_us, (item,), item))
    until_us = int(max(now_us, unit.until_us))
    condition: Condition | None = None
    for step in query.steps:
        if isinstance(step, Punctuate):
            condition = step.when
            continue
        stage = Stage(step, condition, event_time, stream)
        stream = stage.sends(unit.items[0].value, until_us, ended=unit.ended)
        condition = None
    return list(_numbered(query, stream))


def _numbered(query: OperatorQuery, sent: Sequence[StageOutput]) -> Iterator[ReportedRow]:
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
        yield ReportedRow(number, key, items, one.cause, one.values, one.failed)
        if grouped:
            reporting = True
        else:
            number += 1
