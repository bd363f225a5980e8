"""Joins, by definition: all pairs of records of two streams, compared.

A record is delivered when progress passes it, or at its late epoch. A pair is sent at the later of
its records' instants. In an outer join, a record of a kept side is sent alone at the instant at
which all on-time partners have come, unless it has a pair by then; its first later pair retracts
that row.

Source: SAMZA-552, "Join operator"; outer joins are ours.
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from windowing.model.flow import JoinFlow
from windowing.model.join import Comparison, Operand, Side, operands_in
from windowing.model.query import JoinQuery
from windowing.model.record import Record
from windowing.model.rows import Key, Row, Scalar
from windowing.semantics.expressions import ExpressionFailure, value_of
from windowing.semantics.lanes import Lane, Progress
from windowing.semantics.session_course import Entry, sessions_of
from windowing.semantics.units import Item, Lateness, epoch
from windowing.semantics.windows.definition import FlowDefinition

Delivery = tuple[int, Item]
"""A record and its instant of delivery."""

_SIDES: Final[tuple[Side, Side]] = ("left", "right")

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


@dataclass(frozen=True)
class JoinRow:
    """A row and the facts that order it among the rows.

    Attributes:
        instant: when it is sent.
        left, right: the records; None: the other is alone.
        retracts: it retracts the row of a record that was sent alone.
    """

    instant: Progress
    left: Item | None
    right: Item | None
    retracts: bool = False

    @property
    def order(self) -> tuple[Progress, int, list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """The sort key: instant; retractions, pairs, lone records; then places, None first."""
        alone = self.left is None or self.right is None
        kind = 0 if self.retracts else 2 if alone else 1
        left, right = ([] if item is None else [item.canonical] for item in (self.left, self.right))
        return self.instant, kind, left, right


@dataclass(frozen=True)
class JoinDefinition(FlowDefinition):
    """Joins: which records are delivered, and when; `join_rows` pairs them."""

    query: JoinFlow

    def takes(self, item: Item) -> bool:
        """Return whether a record is joined, now or at a later epoch."""
        if self.lateness(item) is None:
            return True
        retention = self.query.retention_us
        kept = retention is None or item.value >= item.progress - retention
        return self.query.late.policy == "update" and kept

    def lateness(self, item: Item) -> Lateness | None:
        """Return the lateness: progress had passed the record."""
        return Lateness(whole=True) if item.progress > item.value else None

    def delivered(self, item: Item) -> int:
        """Return the instant at which an accepted record is delivered."""
        every_us = self.query.late.every_us
        if self.lateness(item) is None or every_us is None:
            return item.value + 1
        return epoch(item.progress, item.value, every_us)


def rows(query: JoinQuery, items: Sequence[Item], lanes: Iterable[Lane]) -> list[Row]:
    """All rows that the log shows of a pipeline's join.

    Args:
        items: the good records of both streams.
        lanes: all lanes, at the end of the log.
    """
    definition = JoinDefinition(query)
    sides: dict[Side, list[Delivery]] = {"left": [], "right": []}
    for item in items:
        if definition.takes(item):
            sides[query.side_of(item.source)].append((definition.delivered(item), item))
    progress = min(lane.progress for lane in lanes)
    return [row_of(query, one) for one in join_rows(query, sides) if one.instant <= progress]


def join_rows(flow: JoinFlow, sides: Mapping[Side, Sequence[Delivery]]) -> list[JoinRow]:
    """Return all rows that two sides' records ever send, in order.

    Args:
        flow: the join; its late policy is not used here.
        sides: the accepted records of each side.
    """
    if flow.session_gap is not None:
        return _in_sessions(flow, flow.session_gap, sides)
    by_key: dict[Sequence[Scalar] | None, list[Delivery]] = defaultdict(list)
    for other in sides["right"]:
        by_key[_key(flow, "right", other[1])].append(other)
    pairs = [
        JoinRow(max(one, other), left, right)
        for one, left in sides["left"]
        for other, right in by_key[_key(flow, "left", left)]
        if _matches(flow, left, right)
    ]
    return sorted([*pairs, *_alone(flow, sides, pairs)], key=lambda sent: sent.order)


def _in_sessions(
    flow: JoinFlow, gap: int, sides: Mapping[Side, Sequence[Delivery]]
) -> list[JoinRow]:
    """Return each pair with the first instant at which a chain of delivered records connects it."""
    every = [
        (_key(flow, side, item), at, item) for side, timed in sides.items() for at, item in timed
    ]
    sent = []
    for one, left in sides["left"]:
        for other, right in sides["right"]:
            key = _key(flow, "left", left)
            if key is None or key != _key(flow, "right", right) or not fulfil(flow, left, right):
                continue
            own = [(at, item) for its_key, at, item in every if its_key == key]
            instants = sorted({instant for instant, _ in own if instant >= max(one, other)})
            for x in instants:
                there = [Entry(i.value, i.canonical, None, i) for at, i in own if at <= x]
                chains = sessions_of(there, gap).values()
                if any(left in chain and right in chain for chain in chains):
                    sent.append(JoinRow(x, left, right))
                    break
    return sorted(sent, key=lambda pair: pair.order)


def _alone(
    flow: JoinFlow, sides: Mapping[Side, Sequence[Delivery]], pairs: Iterable[JoinRow]
) -> Iterable[JoinRow]:
    """Yield the rows of records without an on-time partner, and their retractions."""
    first: dict[int, Progress] = defaultdict(lambda: math.inf)
    for pair in pairs:
        for item in (pair.left, pair.right):
            first[id(item)] = min(first[id(item)], pair.instant)
    for side, records in sides.items():
        for instant, item in records if flow.keeps(side) else ():
            # From then on, any partner that arrives is late.
            reach = flow.reach(side)
            due = math.inf if reach is None else max(instant, item.value + reach + 1)
            paired = first[id(item)]
            if paired == math.inf or paired > due:
                left, right = (item, None) if side == "left" else (None, item)
                yield JoinRow(due, left, right)
                if paired < math.inf:
                    yield JoinRow(paired, left, right, retracts=True)


def _matches(flow: JoinFlow, left: Item, right: Item) -> bool:
    if flow.on and _key(flow, "left", left) is None:
        return False
    # The earlier record must lie in its own side's window before the later one.
    reach = flow.reach("right" if left.value >= right.value else "left")
    near = reach is None or abs(left.value - right.value) <= reach
    return near and fulfil(flow, left, right)


def _key(flow: JoinFlow, side: Side, item: Item) -> tuple[Scalar, ...] | None:
    """Return the values that must be equal; None if any is null."""
    values = tuple(item.fields[name] for name in flow.key_fields(side))
    return None if None in values else values


def fulfil(flow: JoinFlow, left: Item, right: Item) -> bool:
    """Return whether two records fulfil the further conditions."""
    if callable(flow.where):
        return flow.where(_record(left), _record(right))
    pair: dict[Side, Item] = {"left": left, "right": right}
    return all(_holds(comparison, pair) for comparison in flow.where)


def _record(item: Item) -> Record:
    return Record(item.lane, item.offset, **item.fields)  # type: ignore[arg-type]


def compared(comparator: str, first: Any, second: Any) -> bool:
    """Return whether a comparison of two values holds; with null it does not."""
    return first is not None and second is not None and _OPERATORS[comparator](first, second)


def _holds(comparison: Comparison, pair: Mapping[Side, Item]) -> bool:
    def value(operand: object) -> object:
        return _value(operand, pair) if isinstance(operand, Operand) else operand

    return compared(comparison.operator, value(comparison.first), value(comparison.second))


def row_of(query: JoinQuery, sent: JoinRow) -> Row:
    """Return a row of a pipeline's join."""
    sides = zip(_SIDES, (sent.left, sent.right), strict=True)
    pair = {side: item for side, item in sides if item is not None}
    there = list(pair.values())
    start, last = min(item.value for item in there), max(item.value for item in there)
    late = any(map(JoinDefinition(query).lateness, there))
    values, failed = shown_of(query, pair)
    return Row(
        query=query.name,
        window_id=start,
        window_start_us=start,
        window_end_us=last + 1,
        key=key_of_pair(query, pair),
        pane="late" if late else "full",
        revision=int(late),
        records=len(there),
        offsets={item.lane: (item.offset, item.offset) for item in there},
        values=values,
        overflow=failed,
        retracts=sent.retracts,
    )


def key_of_pair(query: JoinQuery, pair: Mapping[Side, Item]) -> Key:
    """Return a row's key: what is equal, then lane and offset of both records."""
    side: Side = "left" if "left" in pair else "right"
    key: list[Scalar] = [pair[side].fields[name] for name in query.key_fields(side)]
    for place in _SIDES:
        item = pair.get(place)
        key += [None, None] if item is None else [item.lane, item.offset]
    return tuple(key)


def shown_of(
    query: JoinQuery, pair: Mapping[Side, Item]
) -> tuple[dict[str, Scalar], tuple[str, ...]]:
    """Return the values that a row shows, and the names of expressions that have none."""
    values, failed = dict[str, Scalar](), list[str]()
    for name, one in query.select.items():
        if isinstance(one, Operand):
            values[name] = _value(one, pair)
            continue
        known = {each.name: _value(each, pair) for each in operands_in([one])}
        try:
            values[name] = value_of(one.expression, query.types_in(one), known)
        except ExpressionFailure:
            values[name] = None
            failed.append(name)
    return values, tuple(failed)


def _value(operand: Operand, pair: Mapping[Side, Item]) -> Scalar:
    """Return a field of a record, which may be its event time; null without the record."""
    item = pair.get(operand.side)
    return None if item is None else item.fields.get(operand.field, item.value)
