"""Histories in few buckets: nothing is lost by widening, nor by the order of adding."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jobs.overview.buckets import KEPT_MAX, SECOND_US, beginnings, common_width, of_times

YEAR_US = 8_766 * 3600 * SECOND_US
EVENTS = st.lists(
    st.tuples(st.integers(0, 30 * YEAR_US), st.tuples(st.integers(0, 9), st.integers(0, 9))),
    max_size=40,
)


@given(EVENTS, EVENTS, st.integers(1, 300))
def test_what_is_counted_stays_where_it_was_whatever_the_order(
    some: list[tuple[int, tuple[int, int]]], more: list[tuple[int, tuple[int, int]]], most: int
) -> None:
    whole, parts, rest = of_times(some + more), of_times(more), of_times(some)
    parts.merge(rest)
    width = common_width([whole, parts], most)
    shown = whole.widened(width)
    assert parts.widened(width) == shown
    expected: dict[int, list[int]] = {}
    for at_us, counts in some + more:
        held = expected.setdefault(at_us // width * width, [0, 0])
        held[:] = [a + b for a, b in zip(held, counts, strict=True)]
    assert shown == expected
    starts = list(beginnings([whole, parts], width))
    assert set(shown) <= set(starts)
    assert len(starts) <= most
    assert len(whole.counts) <= KEPT_MAX


def test_a_short_life_has_buckets_of_a_second() -> None:
    found = of_times([(5 * SECOND_US + 7, [1]), (9 * SECOND_US, [2])])
    assert common_width([found], 200) == SECOND_US
    assert found.widened(SECOND_US) == {5 * SECOND_US: [1], 9 * SECOND_US: [2]}
    assert len(list(beginnings([found], SECOND_US))) == 5
