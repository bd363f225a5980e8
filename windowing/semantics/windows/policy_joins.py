"""SPL's Join over two policy windows, by definition.

What each window shows of its own side's history says when a record is stored: from the step at
which it came to the one at which it was evicted. A record that comes probes, unless its partition
was evicted by it; its partners are the records that the opposite window has stored at that step. A
record of an outer side is sent alone when its own window evicts it, if it has no partner.

Source: Gedik 2014, section 6.1.2 and Table II; `spl.md` 10.2, D10 and D11; ADR 22.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from windowing.model.join import Side
from windowing.model.operators.join import SIDES, PolicyJoinQuery
from windowing.model.rows import Row, Scalar
from windowing.model.windows.policy import Count, Delta, PartitionAge, WindowClause
from windowing.semantics.lanes import Lane, Progress
from windowing.semantics.units import Item
from windowing.semantics.windows.history import Advance, Insert, Operation
from windowing.semantics.windows.joins import JoinDefinition, JoinRow, fulfil, row_of
from windowing.semantics.windows.policies import evaluate

_TIME = ""
"""The event time, as a number, among a record's fields."""


@dataclass
class _Stay:
    """A record of a side, and how its window treats it.

    Attributes:
        step: at which step it came.
        probes: whether it probes the opposite window.
        stored: whether it was ever in its window.
        left: the step from which on it is not; infinity: it stays.
        alone: it left by eviction, not with its partition.
    """

    item: Item
    step: int
    part: Any
    probes: bool = False
    stored: bool = True
    left: float = math.inf
    alone: bool = False

    def there(self, step: int) -> bool:
        """Return whether it is in its window while a record of the other side probes."""
        return self.stored and self.step < step < self.left


def rows(query: PolicyJoinQuery, items: Sequence[Item], lanes: Sequence[Lane]) -> list[Row]:
    """All rows that the log shows of a join over policy windows.

    Args:
        items: the good records of both streams.
        lanes: all lanes, at the end of the log.
    """
    definition, progress = JoinDefinition(query), min(lane.progress for lane in lanes)
    # The clock shows progress in the end; once all lanes have ended, the furthest that one had.
    ends = max(lane.furthest for lane in lanes) if progress == math.inf else progress
    units = defaultdict[tuple[Scalar, ...], list[Item]](list)
    for item in sorted(items, key=lambda item: item.canonical):
        if definition.takes(item) and item.value < progress:
            names = query.shard_fields(query.side_of(item.source))
            units[tuple(item.fields[name] for name in names)].append(item)
    return [row_of(query, sent) for unit in units.values() for sent in _sent(query, unit, ends)]


def _sent(query: PolicyJoinQuery, unit: Sequence[Item], ends: Progress) -> list[JoinRow]:
    """Return what the records of a unit send, in no order."""
    left, right = (_stays(query, side, unit, ends) for side in SIDES)
    pairs = [
        (one, other)
        for one in left
        for other in right
        if _meet(query, one, other) and _match(query, one.item, other.item)
    ]
    partners = {id(stay) for pair in pairs for stay in pair}
    alone = _alone(query, {"left": left, "right": right}, partners)
    return [*(JoinRow(0, one.item, other.item) for one, other in pairs), *alone]


def _stays(
    query: PolicyJoinQuery, side: Side, course: Sequence[Item], ends: Progress
) -> list[_Stay]:
    """Return a side's records, in canonical order, with their stays in its window.

    Args:
        course: the records of both sides, of one unit.
        ends: what the clock shows in the end.
    """
    window = _by_time(query, side)
    operations, steps, stays = list[Operation](), list[int](), list[_Stay]()
    for step, item in enumerate(course):
        operations.append(Advance(item.value))
        steps.append(step)
        if query.side_of(item.source) == side:
            operations.append(Insert({**item.fields, _TIME: item.value}))
            steps.append(step)
            part = tuple(item.fields[name] for name in window.partition_by)
            stays.append(_Stay(item, step, part, stored=window.eviction != Count(0)))
    if course and ends > course[-1].value:
        operations.append(Advance(int(ends)))
        steps.append(len(course))
    for shown in evaluate(window, operations):
        step = steps[shown.step]
        if shown.kind == "trigger":
            (probing,) = (stay for stay in stays if stay.step == step)
            probing.probes = True
        elif shown.kind == "evict":
            evicted = stays[shown.tuples[0] - 1]
            evicted.left, evicted.alone = step, True
        elif shown.kind == "partitionEviction":
            # By age, partitions leave before the record of this step comes.
            last = step - isinstance(window.partition_eviction, PartitionAge)
            for stay in stays:
                if stay.part in shown.key and stay.step <= last and stay.left == math.inf:
                    stay.left = step
    return stays


def _by_time(query: PolicyJoinQuery, side: Side) -> WindowClause:
    """Return a side's window, whose delta compares event times as numbers."""
    window = query.side_window(side)
    eviction = window.eviction
    if isinstance(eviction, Delta) and eviction.attribute == query.source(side).event_time.field:
        return replace(window, eviction=Delta(_TIME, eviction.threshold))
    return window


def _meet(query: PolicyJoinQuery, one: _Stay, other: _Stay) -> bool:
    """Return whether the later of two records probes while the earlier one is stored."""
    if query.partitions and one.part != other.part:
        return False
    earlier, later = sorted((one, other), key=lambda stay: stay.step)
    return later.probes and earlier.there(later.step)


def _match(query: PolicyJoinQuery, left: Item, right: Item) -> bool:
    """Return whether two records have equal keys, without null, and fulfil the conditions."""
    keys = [
        tuple(item.fields[name] for name in names)
        for item, names in ((left, tuple(query.on)), (right, tuple(query.on.values())))
    ]
    return keys[0] == keys[1] and None not in keys[0] and fulfil(query, left, right)


def _alone(
    query: PolicyJoinQuery, sides: Mapping[Side, Iterable[_Stay]], partners: set[int]
) -> Iterator[JoinRow]:
    for side, stays in sides.items():
        for stay in stays if query.keeps(side) else ():
            if (stay.alone or not stay.stored) and id(stay) not in partners:
                yield JoinRow(0, *((stay.item, None) if side == "left" else (None, stay.item)))
