"""One protocol for every row operator: what it remembers is its snapshot, wherever it continues."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from windowing import JoinFlow, Late, Record, Session, Sliding, StreamFlow, count, time
from windowing.engine.rows.flows.joins import JoinOperator
from windowing.engine.rows.flows.operator import LaneRecord
from windowing.engine.rows.flows.sessions import SessionOperator
from windowing.engine.rows.flows.windows import WindowOperator
from windowing.engine.rows.operator import RowOperator
from windowing.engine.rows.operators import Aggregate, Join, Output, Sort
from windowing.engine.storage.state import MemoryStore
from windowing.model.windows.policy import WindowClause

Send = Callable[[Any], object]
Call = tuple[str, Any, int]


def _flow(offset: int, ts: int, key: str = "a", port: int = 0, before: int = 0) -> Call:
    lane = ("left/0", "right/0")[port]
    return "insert", LaneRecord(Record(lane, offset, ts, key, offset), before), port


def _stream(window: Any) -> StreamFlow:
    late = Late(policy="update", every=10)
    return StreamFlow(
        window=window, group_by=("key",), aggregates={"all": "collect(value)"}, late=late
    )


_JOIN = JoinFlow(left=5, right=5, on={"key": "key"}, kind="full")

_OF_A_STREAM: list[Call] = [
    *(_flow(0, 3), _flow(1, 12), ("punctuate", 10, 0), _flow(2, 4, before=10), _flow(3, 17, "b")),
    *(("punctuate", 25, 0), ("punctuate", 60, 0)),
]
_OF_TWO: list[Call] = [
    *(_flow(0, 3), _flow(0, 4, port=1), ("punctuate", 4, 0), _flow(1, 30), ("punctuate", 20, 0)),
    *(_flow(1, 33, port=1), _flow(2, 50), ("punctuate", 90, 0)),
]
_TUPLES: list[Call] = [
    *[("insert", {"v": v, "k": v % 2}, v % 2) for v in (5, 1, 4, 2, 8, 3)],
    ("tick", 9_000_000, 0),
]
_OPERATORS: dict[str, tuple[Callable[[Send], Any], Sequence[Call]]] = {
    "windows": (
        lambda send: WindowOperator(
            _stream(Sliding(10, 5, "ts", align="start")), MemoryStore(), send, -math.inf
        ),
        _OF_A_STREAM,
    ),
    "sessions": (
        lambda send: SessionOperator(_stream(Session(6, "ts")), MemoryStore(), send, -math.inf),
        _OF_A_STREAM,
    ),
    "joins": (lambda send: JoinOperator(_JOIN, MemoryStore(), send, -math.inf), _OF_TWO),
    "Aggregate": (
        lambda send: Aggregate(
            WindowClause("tumbling", count(2)), {"most": Output("Max", ("v",))}, send
        ),
        [(call, row, 0) for call, row, _ in _TUPLES],
    ),
    "Sort": (
        lambda send: Sort(WindowClause("sliding", count(2), count(1)), ["v"], send),
        [(call, row, 0) for call, row, _ in _TUPLES],
    ),
    "Join": (
        lambda send: Join(
            WindowClause("sliding", time(5), count(1)),
            WindowClause("sliding", count(2), count(1)),
            lambda left, right: {"l": left["v"], "r": right["v"]},
            send,
            where=lambda left, right: left["v"] < right["v"],
        ),
        _TUPLES,
    ),
}


@pytest.mark.parametrize("name", _OPERATORS)
def test_an_operator_continues_from_a_snapshot(name: str) -> None:
    make, calls = _OPERATORS[name]
    whole: list[Any] = []
    operator = make(whole.append)
    assert isinstance(operator, RowOperator)
    for call in calls:
        _do(operator, call)
    assert whole
    for stop in range(len(calls)):
        sent: list[Any] = []
        first = make(sent.append)
        for call in calls[:stop]:
            _do(first, call)
        first.purge()
        second = make(sent.append)
        second.restore(copy.deepcopy(first.snapshot()))
        for call in calls[stop:]:
            _do(second, call)
        assert sent == whole, stop


def _do(operator: Any, call: Call) -> None:
    name, argument, port = call
    if name == "tick":
        operator.tick(argument)
    else:
        getattr(operator, name)(argument, port)
