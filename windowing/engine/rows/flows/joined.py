"""The records of a join: what is known of each, when it is sent alone, which pairs a session makes.

Records that may be sent alone are in the order of the instants at which they would be; those due
only at the end of all lanes come last. Within a session two records of a key match if a chain of
records of both sides connects them, each less than the gap from the next; the pair is sent at the
instant at which the two are first connected, and chains only grow.

Source: SAMZA-552, "Session join"; one session over both streams, and this instant, are ours.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from windowing.engine.rows.flows import keys
from windowing.engine.storage.state import StateStore
from windowing.model.flow import Condition, JoinFlow, KeyOrder
from windowing.model.join import Comparison, Operand, Side
from windowing.model.record import Pair, Place, Progress, Record, place_of


class JoinRecord(msgspec.Struct, array_like=True):
    """A record and its state in the join.

    Attributes:
        at: its value on the axis.
        instant: the progress at which it is delivered.
        delivered: whether it has been.
        paired: the instant of its first pair, or None.
        alone: whether it was sent alone, and that row was not retracted.
    """

    record: Record
    at: int
    instant: int
    late: bool
    delivered: bool = False
    paired: int | None = None
    alone: bool = False

    @property
    def place(self) -> Place:
        """Its position."""
        return place_of(self.at, self.record.lane, self.record.offset)


class DueRow(NamedTuple):
    """A row and its position among the others."""

    instant: Progress
    kind: Literal["retracts", "pair", "single"]
    left: JoinRecord | None
    right: JoinRecord | None

    @property
    def order(self) -> tuple[Progress, int, list[Place], list[Place]]:
        """The sort key; a missing record comes first."""
        left, right = ([] if one is None else [one.place] for one in (self.left, self.right))
        return self.instant, ("retracts", "pair", "single").index(self.kind), left, right

    @property
    def row(self) -> Pair:
        """The row, as sent."""
        left, right = (None if one is None else one.record for one in (self.left, self.right))
        return Pair(left, right, retracts=self.kind == "retracts")


def layout_of(flow: JoinFlow, order: KeyOrder) -> keys.Layout:
    """Return the layout of a join's message keys: the most queried component first."""
    if flow.axis == "rows":
        by_key = order.keyed_store or (flow.on and order.large_window)
        return "eq_offset" if by_key else "offset"
    if order.keyed_store or flow.session_gap is not None:
        return "eq_ts_offset"
    if not flow.on:
        return "ts_offset"
    return "ts_eq_offset" if order.time_range and not order.large_window else "eq_ts_offset"


_PREFIX = "alone/"
# Sorts after every hexadecimal digit.
_AT_THE_END = "z"


class _Entry(NamedTuple):
    """A record that may have to be sent alone; instant None: at the end of all lanes."""

    side: Side
    instant: int | None
    message: str


class AloneIndex:
    """The records of kept sides, by the instant at which they would be sent alone."""

    def __init__(self, store: StateStore) -> None:
        self._store = store

    def add(self, side: Side, instant: int | None, place: Place, message: str) -> None:
        """Add a record by its name in the store; instant None: due once all lanes have ended."""
        at, source, partition, offset = place
        order = _AT_THE_END if instant is None else keys.i64(instant).hex()
        order += (keys.i64(at) + keys.place(f"{source}/{partition}", offset)).hex()
        entry = _Entry(side, instant, message)
        self._store.put(f"{_PREFIX}{order}/{side}", msgspec.msgpack.encode(entry))

    def pop(self, progress: Progress) -> Iterator[tuple[Side, Progress, str]]:
        """Remove each due record, and yield its side, instant and message."""
        for name, data in list(self._store.scan(_PREFIX)):
            side, instant, message = msgspec.msgpack.decode(data, type=_Entry)
            due = math.inf if instant is None else instant
            if due > progress:
                return
            self._store.delete(name)
            yield side, due, message

    def messages(self) -> set[str]:
        """Return the names of all records that may still have to be sent alone."""
        return {
            msgspec.msgpack.decode(data, type=_Entry).message
            for _, data in self._store.scan(_PREFIX)
        }


def connected(
    before: Sequence[JoinRecord], joining: Sequence[JoinRecord], gap: int
) -> Iterator[tuple[JoinRecord, JoinRecord]]:
    """Yield each two records that are newly in one session, in the order of the axis.

    Args:
        before: the existing records of a key.
        gap: the distance that separates two records.
    """
    was = {id(one): number for number, chain in enumerate(chains(before, gap)) for one in chain}
    was |= {id(one): -1 - number for number, one in enumerate(joining)}
    for chain in chains([*before, *joining], gap):
        for number, one in enumerate(chain):
            for other in chain[number + 1 :]:
                if was[id(one)] != was[id(other)]:
                    yield one, other


def chains(records: Sequence[JoinRecord], gap: int) -> list[list[JoinRecord]]:
    """Return the sessions of a key's records."""
    found: list[list[JoinRecord]] = []
    for record in sorted(records, key=lambda record: record.at):
        if found and record.at - found[-1][-1].at < gap:
            found[-1].append(record)
        else:
            found.append([record])
    return found


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


def compared(comparator: str, first: Any, second: Any) -> bool:
    """Return whether a comparison of two values holds; with null it does not."""
    return first is not None and second is not None and _OPERATORS[comparator](first, second)


def condition_of(flow: JoinFlow) -> Condition:
    """Return the condition on a left and a right record of a join."""
    where = flow.where
    if callable(where):
        return where
    return lambda left, right: all(_holds(comparison, left, right) for comparison in where)


def _holds(comparison: Comparison, left: Record, right: Record) -> bool:
    first = _value(comparison.first, left, right)
    second = comparison.second
    if isinstance(second, Operand):
        second = _value(second, left, right)
    return compared(comparison.operator, first, second)


def _value(operand: Operand, left: Record, right: Record) -> Any:
    return getattr(left if operand.side == "left" else right, operand.field)
