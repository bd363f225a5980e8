"""Partial states of one window, record by record: lift, merge in any order, read at the end.

`windowing.engine.aggregates` does the same for frames of millions of records; an operator that is
queried after every record keeps a few plain values per window instead. Values are integers, so that
results are exact. Holistic aggregates keep the places of their records and read the message store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from windowing.model.flow import StreamFlow
from windowing.model.functions import Function
from windowing.model.record import Place, Value

State = Any
"""The state of one aggregate, as msgpack types: None, an integer, text, or a list of these."""


class Partial(msgspec.Struct, array_like=True):
    """The partial state of some of a window's records.

    Attributes:
        records: their number.
        offsets: their first and last offset per lane.
        state: the aggregate's; None over no records.
    """

    records: int = 0
    offsets: dict[str, tuple[int, int]] = {}
    state: State = None


@dataclass(frozen=True)
class Fold:
    """The functions that compute one aggregate.

    Attributes:
        lift: the state of one record, from its place and value.
        merge: of two states; commutative and associative.
        result: from the state and the number of records; `read` returns the values at places.
        empty: the result over no values.
    """

    lift: Callable[[Place, int], State]
    merge: Callable[[State, State], State]
    result: Callable[[State, int, Callable[[Sequence[Place]], list[int]]], Value]
    empty: Value = None


def _median(values: list[int]) -> int | float:
    ordered = sorted(values)
    twice = ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]
    return twice / 2 if twice % 2 else twice // 2


def _collected(state: State) -> list[Place]:
    return sorted((axis, source, partition, offset) for axis, source, partition, offset in state)


def _at_place(place: Place, value: int) -> State:
    return [*place, value]


FOLDS: dict[Function, Fold] = {
    "count": Fold(lambda _, __: None, lambda _, __: None, lambda _, n, __: n, 0),
    # As text, because a sum may exceed msgpack's 64-bit integers.
    "sum": Fold(lambda _, v: str(v), lambda a, b: str(int(a) + int(b)), lambda s, _, __: int(s), 0),
    "min": Fold(lambda _, v: v, min, lambda s, _, __: int(s)),
    "max": Fold(lambda _, v: v, max, lambda s, _, __: int(s)),
    # Places are unique, so comparison never reaches the values.
    "first": Fold(_at_place, min, lambda s, _, __: int(s[-1])),
    "last": Fold(_at_place, max, lambda s, _, __: int(s[-1])),
    "collect": Fold(
        lambda p, _: [list(p)], lambda a, b: a + b, lambda s, _, read: read(_collected(s)), []
    ),
    "median": Fold(
        lambda p, _: [list(p)], lambda a, b: a + b, lambda s, _, read: _median(read(_collected(s)))
    ),
}


HOLISTIC: tuple[Function, ...] = ("collect", "median")
"""Aggregates that need every record of a window, and so a message store."""


def fold_of(flow: StreamFlow) -> Fold:
    """Return how a flow's single aggregate is computed."""
    return FOLDS[flow.aggregates[0].function]


def is_holistic(flow: StreamFlow) -> bool:
    """Return whether the aggregate of a flow needs every record of a window."""
    return flow.aggregates[0].function in HOLISTIC


def lift(fold: Fold, place: Place, lane: str, value: int) -> Partial:
    """Return the partial state of one record."""
    offset = place[-1]
    return Partial(1, {lane: (offset, offset)}, fold.lift(place, value))


def merge(fold: Fold, one: Partial, other: Partial) -> Partial:
    """Return the partial state of both sets of records."""
    if not one.records or not other.records:
        return one if one.records else other
    offsets = dict(one.offsets)
    for lane, (first, last) in other.offsets.items():
        low, high = offsets.get(lane, (first, last))
        offsets[lane] = min(low, first), max(high, last)
    return Partial(one.records + other.records, offsets, fold.merge(one.state, other.state))


def places_of(partial: Partial) -> set[Place]:
    """Return the places of a holistic aggregate's records."""
    return set(_collected(partial.state or []))
