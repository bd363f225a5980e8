"""Joins of a pipeline, by definition: the records of two streams, every one beside every other.

What a pair is, when it is sent, and when a record is sent alone, is said by `operator_join`; here
its words are those of a pipeline: fields that are equal, conditions on fields, a row per pair.

Source: SAMZA-552, "Join operator"; outer joins are ours.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from windowing.model.file.pipeline import Query
from windowing.model.join import PAIRS, Comparison, Join, JoinedSource, Operand, Side
from windowing.model.operator import JoinSpec, LaneSpec
from windowing.model.record import Record, place_of
from windowing.model.rows import Row, Scalar
from windowing.semantics.lanes import Lane
from windowing.semantics.operators.join import Sent, Timed, rows_of
from windowing.semantics.operators.log import Met, release
from windowing.semantics.units import Item, Lateness

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


@dataclass(frozen=True)
class JoinDefinition:
    """Joins: which records are joined; `rows` says to which.

    Attributes:
        query: what becomes of late records.
    """

    query: Query

    def takes(self, item: Item) -> bool:
        """Whether a record is joined, now or at an epoch to come."""
        if self.lateness(item) is None:
            return True
        kept = item.value >= item.progress - (self.query.retention_us or 0)
        return self.query.late.policy == "update" and kept

    def lateness(self, item: Item) -> Lateness | None:
        """Late is what progress had passed."""
        return Lateness(whole=True) if item.progress > item.value else None


def rows(
    query: Query, source: JoinedSource, items: Sequence[Item], lanes: Iterable[Lane]
) -> list[Row]:
    """All rows that the log shows of a join.

    Args:
        query: what becomes of late records.
        source: both streams and what matches.
        items: their good records.
        lanes: all lanes, at the end of the log.
    """
    join, names = source.join, [source.lane(number) for number in range(source.partitions)]
    definition = JoinDefinition(query)
    by_place = {(item.lane, item.offset): item for item in items}
    sides: dict[Side, list[Timed]] = {"left": [], "right": []}
    for item in items:
        if definition.takes(item):
            side = source.side_of(names.index(item.lane))
            met = _met(item, _key(join, side, item))
            late = definition.lateness(item) is not None and query.late.every_us is not None
            instant = release(item.progress, query.late.every_us or 1) if late else item.value + 1
            sides[side].append((instant, met))

    def fulfilled(left: Record, right: Record) -> bool:
        pair = {
            "left": by_place[left.lane, left.offset],
            "right": by_place[right.lane, right.offset],
        }
        return all(_holds(comparison, pair) for comparison in join.where)

    spec = JoinSpec.model_validate(
        {
            "lanes": [_lane(name, source.side_of(number)) for number, name in enumerate(names)],
            "axis": "ts",
            "left": {"window": join.left.window_us},
            "right": {"window": join.right.window_us},
            "kind": join.kind,
            "equality": bool(join.equal),
            "condition": fulfilled,
            "retention": {"time": query.retention_us},
        }
    )
    progress = min(lane.progress for lane in lanes)
    sent = [one for one in rows_of(spec, sides) if one.instant <= progress]
    return [_row(query, source, one, by_place) for one in sent]


def _lane(name: str, side: Side) -> LaneSpec:
    topic, _, partition = name.rpartition("/")
    return LaneSpec(source=topic, partition=int(partition), side=side)


def _met(item: Item, key: str | None) -> Met:
    record = Record(item.lane, item.offset, item.value, key, 0)
    place = place_of(item.value, item.lane, item.offset)
    return Met(record, item.value, place, item.progress)


def _key(join: Join, side: Side, item: Item) -> str | None:
    """What must be equal, as one text; None where any of it is null."""
    values = [item.fields[name] for name in join.key_fields(side)]
    return None if None in values else json.dumps(values)


def _holds(comparison: Comparison, pair: dict[str, Item]) -> bool:
    def value(operand: object) -> object:
        if isinstance(operand, Operand):
            return pair[operand.side].fields[operand.field]
        return operand

    first, second = value(comparison.first), value(comparison.second)
    if first is None or second is None:
        return False
    return _OPERATORS[comparison.operator](first, second)


def _row(
    query: Query, source: JoinedSource, sent: Sent, by_place: dict[tuple[str, int], Item]
) -> Row:
    pair = {
        side: by_place[met.record.lane, met.record.offset]
        for side, met in (("left", sent.left), ("right", sent.right))
        if met is not None
    }
    there = list(pair.values())
    start, last = min(item.value for item in there), max(item.value for item in there)
    late = any(map(JoinDefinition(query).lateness, there))
    equal = _equal(source.join, pair)
    places: list[Scalar] = []
    for side in ("left", "right"):
        item = pair.get(side)
        places += [None, None] if item is None else [item.lane, item.offset]
    return Row(
        query=PAIRS,
        window_id=start,
        window_start_us=start,
        window_end_us=last + 1,
        key=(*equal, *places),
        pane="late" if late else "full",
        revision=int(late),
        records=len(there),
        offsets={item.lane: (item.offset, item.offset) for item in there},
        values={
            name: pair[operand.side].fields[operand.field] if operand.side in pair else None
            for name, operand in source.join.select.items()
        },
        retracts=sent.retracts,
    )


def _equal(join: Join, pair: dict[str, Item]) -> list[Scalar]:
    side: Side = "left" if "left" in pair else "right"
    return [pair[side].fields[name] for name in join.key_fields(side)]
