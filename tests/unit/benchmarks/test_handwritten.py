"""Operators written by hand send what those of the library send, whatever their windows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.handwritten import aggregate, join, sort
from windowing.engine.rows.operators import (
    Aggregate,
    Join,
    JoinKind,
    Output,
    PortOutput,
    Punctuation,
    Sort,
    SortOrder,
    sliding,
    tumbling,
)
from windowing.engine.rows.policies import (
    Marker,
    count,
    delta,
    partition_age,
    partition_count,
    punct,
    time,
    tuple_count,
)
from windowing.model.windows.policy import Selection, WindowClause

Step = tuple[str, Any]

_SECOND_US = 1_000_000
_EVICTIONS = [
    None,
    *(
        make(2, selection=one)
        for make in (partition_count, tuple_count)
        for one in Selection
        if one is not Selection.user
    ),
    partition_age(2),
]
_TUMBLING = [
    tumbling(policy, **kind)
    for policy in (count(0), count(1), count(3), delta("v", 2), time(2), punct())
    for kind in ({}, *({"partition_by": ("k",), "partition_eviction": one} for one in _EVICTIONS))
]
_SLIDING = [
    sliding(eviction, trigger, **kind)
    for eviction, trigger in product(
        (count(0), count(1), count(3), delta("v", 2), time(2)),
        (count(1), count(2), delta("v", 1), time(1), time(3)),
    )
    for kind in ({}, *({"partition_by": ("k",), "partition_eviction": one} for one in _EVICTIONS))
]
_ROW = st.fixed_dictionaries(
    {"k": st.integers(0, 3), "g": st.integers(0, 1), "v": st.integers(0, 6)}
)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), _ROW),
        st.tuples(st.just("insert"), _ROW),
        st.tuples(st.just("tick"), st.integers(1, 4).map(lambda halves: halves * _SECOND_US // 2)),
        st.tuples(st.just("punct"), st.sampled_from([Marker.window, Marker.final])),
    ),
    max_size=40,
)


def shown(one: PortOutput) -> Any:
    return aggregate.PUNCTUATION if isinstance(one.item, Punctuation) else one.item


def run(operator: Any, steps: list[Step]) -> None:
    """Apply the steps; the clock starts at zero, and ticks advance it."""
    now_us = 0
    for what, content in steps:
        if what == "insert":
            operator.insert(content)
        elif what == "punct":
            operator.punctuate(content)
        else:
            now_us += content
            operator.tick(now_us)


def check(
    library: Any, sent: list[PortOutput], handwritten: Any, found: list[Any], steps: Any
) -> None:
    try:
        run(handwritten, steps)
    finally:
        handwritten.close()
    run(library, steps)
    assert found == [shown(one) for one in sent]


@given(st.sampled_from(_TUMBLING + _SLIDING), _STEPS, st.booleans(), st.booleans())
def test_aggregate(window: WindowClause, steps: list[Step], grouped: bool, more: bool) -> None:
    called = {"a": ("Average", ("v",)), "n": ("Count", ()), "p": ("Percentile", ("v", "60"))}
    sent: list[PortOutput] = []
    found: list[Any] = []
    partial = more and window.kind == "sliding"
    victims = more and window.kind == "tumbling" and bool(window.partition_by)
    library = Aggregate(
        window,
        {name: Output(*one) for name, one in called.items()},
        sent.append,
        group_by=("g",) if grouped else (),
        partial_windows=partial or None,
        evicted_partitions=victims or None,
    )
    handwritten = aggregate.Aggregate(
        window,
        called,
        found.append,
        group_by=("g",) if grouped else (),
        partial_windows=partial,
        evicted_partitions=victims,
    )
    check(library, sent, handwritten, found, steps)


@given(
    st.sampled_from([*_TUMBLING, *(one for one in _SLIDING if one.trigger == count(1))]),
    _STEPS,
    st.sampled_from([("ascending",), ("descending", "ascending")]),
)
def test_sort(window: WindowClause, steps: list[Step], order: tuple[str, ...]) -> None:
    sent: list[PortOutput] = []
    found: list[Any] = []
    library = Sort(window, ["v", "g"], sent.append, order=[SortOrder(one) for one in order])
    check(library, sent, sort.Sort(window, ["v", "g"], found.append, order=order), found, steps)


def pair(left: Any, right: Any) -> Any:
    return {"left": dict(left), "right": dict(right)}


def related(left: Any, right: Any) -> bool:
    return bool(left["v"] <= right["v"])


_JOINED = st.sampled_from([one for one in _SLIDING if one.trigger == count(1)])


@given(
    st.tuples(_JOINED, _JOINED),
    st.lists(st.tuples(_STEPS, st.integers(0, 1)), max_size=6),
    st.tuples(st.sampled_from(JoinKind), st.booleans()),
    st.sampled_from([None, related]),
    st.booleans(),
)
def test_join(
    windows: tuple[WindowClause, WindowClause],
    steps: list[tuple[list[Step], int]],
    unmatched: tuple[JoinKind, bool],
    where: Callable[[Any, Any], bool] | None,
    equal: bool,
) -> None:
    sent: list[PortOutput] = []
    found: list[Any] = []
    names = ["g"] if equal else []
    kind, extra = unmatched
    outer, defaults = kind.outer_sides, ({"v": -1}, {"v": -2})
    library = Join(
        *windows,
        pair,
        sent.append,
        kind=kind,
        equal=(names, names),
        where=where,
        extra_ports=sum(outer) if extra else 0,
        defaults={
            side: row
            for side, row, other in zip(("left", "right"), defaults, reversed(outer), strict=True)
            if other and not extra
        },
    )
    handwritten = join.Join(
        *windows,
        pair,
        lambda port, item: found.append((port, item)),
        outer=outer,
        equal=(names, names),
        where=where,
        extra_ports=extra,
        defaults=defaults,
    )
    now_us = 0
    try:
        for part, port in steps:
            for what, content in part:
                if what == "insert":
                    library.insert(content, port)
                    handwritten.insert(content, port)
                elif what == "tick":
                    now_us += content
                    library.tick(now_us)
                    handwritten.tick(now_us)
    finally:
        handwritten.close()
    assert found == [(one.port, shown(one)) for one in sent]
