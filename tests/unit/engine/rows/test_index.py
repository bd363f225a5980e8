"""An index finds what a search of its window finds."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windowing.engine.rows.policies import (
    Count,
    Delta,
    SlidingWindow,
    Time,
    count,
    delta,
    partition_age,
    partition_count,
    time,
    tuple_count,
)
from windowing.engine.rows.policies.index import Index
from windowing.engine.rows.policies.window import with_rows

_LIMITS = [partition_count(1), tuple_count(2), partition_age(1), None]


def window_of(eviction: Count | Delta | Time, limit: object) -> SlidingWindow:
    return SlidingWindow(eviction, count(1), partition_by=("k",), partition_eviction=limit)


@given(
    eviction=st.sampled_from([count(2), delta("v", 1), time(1)]),
    limit=st.sampled_from(_LIMITS),
    arrivals=st.lists(
        st.tuples(
            st.integers(0, 1),
            st.booleans(),
            st.fixed_dictionaries(
                {"k": st.integers(0, 1), "g": st.integers(0, 1), "v": st.integers(0, 4)}
            ),
        ),
        max_size=25,
    ),
)
def test_it_finds_the_tuples_of_a_partition_with_certain_values(
    eviction: Count | Delta | Time,
    limit: object,
    arrivals: list[tuple[int, bool, dict[str, int]]],
) -> None:
    window, now_us = window_of(eviction, limit), 0
    index = Index(window, ["g"])
    for passed_s, restored, row in arrivals:
        now_us += passed_s * 1_000_000
        window.tick(now_us)
        window.insert(row)
        if restored:
            window.restore(window.snapshot(), timers=True)
            index.rebuild()
        for k, g in product((0, 1), (0, 1)):
            wanted = [one for one in window.rows((k,)) or [] if one["g"] == g]
            assert list(index.find((k,), (g,))) == wanted


def test_it_begins_with_what_the_window_has() -> None:
    window, row = window_of(count(2), None), {"k": 0, "g": [1], "v": 0}
    window.insert(row)
    assert list(Index(window, ["g"]).find((0,), ((1,),))) == [row]


@pytest.mark.parametrize("size", [0, 2])
def test_a_snapshot_with_another_form_of_each_tuple_stays_as_it_is(size: int) -> None:
    window = window_of(count(3), None)
    for number in range(size):
        window.insert({"k": 0, "v": number})
    snapshot = window.snapshot()
    changed = with_rows(snapshot, lambda row: row["v"])
    assert with_rows(changed, lambda value: {"k": 0, "v": value}) == snapshot
    assert snapshot == window.snapshot()
