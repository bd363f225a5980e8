"""Capacity: computed from unit costs, monotone in the load, and with every assumption said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.engine.test_families import ALIKE, HEAD, LATER, QUERY
from windowing.engine.plan import plan_of
from windowing.engine.tuning import tuned
from windowing.explain.capacity import (
    UNIT_COSTS,
    CapacityError,
    Load,
    UnitCosts,
    capacity_of,
    kind_of,
    partials,
)
from windowing.explain.pipeline import UnknownQuery, cost
from windowing.model import parse_pipeline
from windowing.model.windows.cumulate import Cumulate
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding

S_US = 1_000_000
MIN_US = 60 * S_US
TUMBLING = Sliding(MIN_US, MIN_US, "ts")
SLIDING = Sliding(60 * MIN_US, MIN_US, "ts")
DAY_US = 24 * 60 * MIN_US
COSTS = UnitCosts(
    machine="a machine",
    core_us={"tumbling": 4, "sliding": 5, "session": 8},
    lane_us={"tumbling": 1, "sliding": 1, "session": 2},
    query_us={"tumbling": 0.5, "sliding": 1, "session": 3},
    batch_s=0.5,
    partial_bytes=50,
    jvm_bytes=2e9,
    worker_bytes=2e8,
)
LOAD = Load(rate=1_000_000, keys=1_000_000, windows=(TUMBLING,))


def test_a_million_records_a_second() -> None:
    """Four core-seconds a second, at 60 % of 95 % of the time: 7.02 cores."""
    found = capacity_of(LOAD, COSTS)
    assert (found.cores, found.executors) == (8, 2)
    assert found.shards == 8
    assert found.partitions == 20  # 200 MB/s, at 10 MB/s each
    assert found.batch_took_s == pytest.approx(0.5 + 10_000_000 * 4e-6 / 8)
    assert found.rows_per_s == pytest.approx(1_000_000 / 60, rel=0.01)


def test_a_period_holds_one_sum_and_what_is_open() -> None:
    """A day by minutes needs what an hour by minutes needs, and not a day of slices."""
    load = replace(LOAD, rate=1_000, keys=1_000, held_us=10 * MIN_US)
    day, hour = (
        partials(Cumulate(length, MIN_US, "ts"), load, 4) for length in (DAY_US, 60 * MIN_US)
    )
    assert kind_of(Cumulate(DAY_US, MIN_US, "ts")) == "sliding"
    assert day == pytest.approx(hour, rel=0.01)
    assert partials(Sliding(DAY_US, MIN_US, "ts"), load, 4) > 100 * day


def test_another_query_costs_what_it_adds() -> None:
    one = capacity_of(replace(LOAD, windows=(SLIDING,), rate=100_000_000), COSTS)
    two = capacity_of(replace(LOAD, windows=(SLIDING, TUMBLING), rate=100_000_000), COSTS)
    assert two.cores / one.cores == pytest.approx(5.5 / 5, rel=0.01)


def test_a_slice_of_few_records_has_a_partial_for_each() -> None:
    load = replace(LOAD, rate=10, keys=1_000_000_000)
    assert partials(TUMBLING, load, 4) == pytest.approx(10 * 60 * (1 + 10 / 60), rel=0.001)


def test_a_session_is_held_until_its_gap_has_passed() -> None:
    load = replace(LOAD, rate=10, keys=1_000_000_000, held_us=60 * S_US)
    assert partials(Session(30 * S_US, "ts"), load, 4) == pytest.approx(10 * 90, rel=0.001)


@given(
    st.floats(1, 1e8),
    st.floats(1, 1e8),
    st.integers(1, 10**9),
    st.sampled_from([TUMBLING, SLIDING, Session(30 * S_US, "ts")]),
)
def test_more_load_never_needs_less(
    rate: float, more: float, keys: int, window: Sliding | Session
) -> None:
    load = Load(rate=rate, keys=keys, windows=(window,))
    small, large = capacity_of(load, COSTS), capacity_of(replace(load, rate=rate + more), COSTS)
    for name in ("partitions", "shards", "cores", "executors", "state_bytes", "rows_per_s"):
        assert getattr(small, name) <= getattr(large, name) * (1 + 1e-9), name
    assert small.partitions >= small.cores  # else some would have nothing to read
    assert small.batch_took_s <= load.batch_s


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rate": 0}, "rate is 0: it must be positive"),
        ({"busy": 1.5}, "busy is 150%: at most 100%"),
        ({"batch_s": 0.6}, r"a batch every 0.6 s: .* takes 0.5 s, so choose 1 s or more"),
    ],
)
def test_an_impossible_load_is_refused(change: dict[str, float], said: str) -> None:
    with pytest.raises(CapacityError, match=said):
        capacity_of(replace(LOAD, **change), COSTS)


def test_a_window_that_was_not_measured_is_refused() -> None:
    with pytest.raises(CapacityError, match="a landmark window was not measured"):
        kind_of(Landmark(MIN_US, "ts"))


def test_every_assumption_is_said() -> None:
    said = " ".join(capacity_of(replace(LOAD, held_us=90 * S_US), COSTS).assumptions)
    for part in ("a machine", "60%", "90 s", "200 bytes", "every 10 s", "10 MB/s", "1 GB"):
        assert part in said


def test_the_costs_that_the_command_uses_can_be_read() -> None:
    costs = UnitCosts.load(UNIT_COSTS)
    assert "placeholder" not in costs.machine
    assert 0.05 < costs.batch_s < 5
    for by_kind in (costs.core_us, costs.lane_us, costs.query_us):
        assert set(by_kind) == {"tumbling", "sliding", "session"}
        assert all(0 < cost < 100 for cost in by_kind.values())
    assert 1 < costs.partial_bytes < 1_000


def test_the_page_shows_what_the_command_says() -> None:
    page = Path("docs/capacity.md").read_text(encoding="utf-8")
    for sentence in capacity_of(
        replace(LOAD, held_us=15 * 3_600 * S_US), UnitCosts.load()
    ).assumptions:
        if "core does what" not in sentence and "besides" not in sentence:
            assert sentence in page, "copy the output of `slackwater capacity` into the page"


with tuned(share_from_queries=2):
    PLAN = plan_of(
        parse_pipeline(
            HEAD + ALIKE + QUERY.format("in_step", 50, LATER) + QUERY.format("own", 15, LATER)
        )
    )


def test_a_query_that_shares_has_no_state_of_its_own() -> None:
    assert cost(PLAN, "in_step").startswith("shares slices with 3 others")


def test_any_other_has() -> None:
    # Windows of 15 us every 10 us, 5 us of slack: two slices per slide, of two slides and one more.
    summary, (each, states) = cost(PLAN, "own"), (56, 6)
    assert summary.startswith(f"has slices of its own: about {each} bytes a partial state")
    assert f"about {each * states} bytes per key" in summary


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(UnknownQuery):
        cost(PLAN, "nobody")
