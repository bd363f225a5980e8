"""Dedup: tuples that no earlier one of their window equals, rebuilt now and then."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windowing.engine.rows.operators import (
    Dedup,
    OperatorError,
    PortOutput,
    WindowClause,
    sliding,
    tumbling,
)
from windowing.engine.rows.policies import ManualClock, count, delta, partition_count, time

WINDOWS = [
    sliding(count(1)),
    sliding(count(3), partition_by=("k",)),
    sliding(delta("v", 2)),
    sliding(time(2)),
    sliding(time(1), partition_by=("k",)),
]
ROWS = st.fixed_dictionaries({"k": st.integers(0, 1), "g": st.integers(0, 2)})


@given(
    window=st.sampled_from(WINDOWS),
    arrivals=st.lists(st.tuples(st.integers(0, 2), st.booleans(), ROWS), max_size=25),
)
def test_a_tuple_is_sent_unless_its_window_holds_an_equal_one(
    window: WindowClause, arrivals: list[tuple[int, bool, dict[str, int]]]
) -> None:
    sent: list[PortOutput] = []
    clock = ManualClock()
    operator = Dedup(window, ["g"], sent.append, clock=clock)
    seen: list[tuple[int, dict[str, int]]] = []
    expected, now_s = [], 0
    for number, (passed_s, rebuilt, drawn) in enumerate(arrivals):
        now_s += passed_s
        row = {**drawn, "v": now_s, "n": number}
        if rebuilt:
            snapshot = json.loads(json.dumps(operator.snapshot()))
            operator = Dedup(window, ["g"], sent.append, clock=clock)
            operator.restore(snapshot, timers=True)
        operator.tick(now_s * 1_000_000)
        operator.insert(row)
        if all(one["g"] != row["g"] for one in held(window, seen, now_s, row)):
            expected.append(row)
        seen.append((now_s, row))
    assert [one.item for one in sent] == expected


def held(
    window: WindowClause, seen: list[tuple[int, dict[str, int]]], now_s: int, new: dict[str, int]
) -> list[dict[str, int]]:
    """The tuples beside which a new one enters its window, from all that came before."""
    same = [(at, row) for at, row in seen if not window.partition_by or row["k"] == new["k"]]
    eviction = window.eviction
    if hasattr(eviction, "size"):
        return [row for _, row in same[len(same) - min(eviction.size - 1, len(same)) :]]
    if hasattr(eviction, "threshold"):
        # `v` never decreases, so that what a tuple has evicted, the next would evict, too.
        return [row for _, row in same if new["v"] - row["v"] <= eviction.threshold]
    assert hasattr(eviction, "period_us")
    return [row for at, row in same if (now_s - at) * 1_000_000 <= eviction.period_us]


def test_an_evicted_partition_is_forgotten() -> None:
    sent: list[PortOutput] = []
    window = sliding(count(9), partition_by=("k",), partition_eviction=partition_count(1))
    operator = Dedup(window, ["g"], sent.append)
    for key in (1, 1, 2, 1):
        operator.insert({"k": key, "g": 0})
    assert [one.item["k"] for one in sent] == [1, 2, 1]  # type: ignore[index]


@pytest.mark.parametrize(
    ("window", "by", "reason"),
    [
        (tumbling(count(3)), ["g"], "UNSUPPORTED_WINDOW"),
        (sliding(count(3), count(2)), ["g"], "UNSUPPORTED_WINDOW"),
        (sliding(count(3)), [], "DEDUP_BY"),
    ],
)
def test_what_dedup_does_not_take(window: WindowClause, by: list[str], reason: str) -> None:
    with pytest.raises(OperatorError) as refused:
        Dedup(window, by, lambda _: None)
    assert refused.value.reason == reason
