"""A wide run stays as wide as it is: state is bounded, and every window closes."""

from __future__ import annotations

from benchmarks.width import Cost, CountingStore, Width, costs_of, growth

NARROW = Width(keys=50, windows=200, partitions=2, batches=140, batch_rows=100)


def test_state_stops_growing_once_windows_close() -> None:
    costs = list(costs_of(NARROW))
    assert len(costs) == NARROW.batches
    assert costs[0].state_bytes < costs[99].state_bytes
    assert 0.7 < growth(costs, "state_bytes") < 1.3
    assert costs[60].rows > 0
    assert all(cost.written_bytes > 0 for cost in costs)


def test_growth_compares_the_first_steady_quarter_with_the_last() -> None:
    costs = [
        Cost(1, 1, 1, 1, state, 1) for state in [9_999] * 100 + [10] * 10 + [5] * 20 + [30] * 10
    ]
    assert growth(costs, "state_bytes") == 3


def test_what_crosses_a_store_is_counted() -> None:
    store = CountingStore()
    store.put("a/1", b"123")
    store.put("b", b"45")
    assert store.get("b") == b"45"
    assert store.get("c") is None
    assert list(store.scan("a/")) == [("a/1", b"123")]
    assert (store.written_bytes, store.read_bytes) == (5, 5)
