"""Sliding aggregates in two stages: the same rows as in one, and chosen where they are."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.engine.rows.test_hosted import STEPS, drawn_log, fed, interleaved, pipeline
from windowing.engine.rows import two_stage
from windowing.engine.rows.part import RowShardPart
from windowing.engine.rows.two_stage import TwoStagePart, why_one_stage
from windowing.model.rows import row_lines
from windowing.runtime.local import LocalEngine

PANES = [name for name in STEPS if name.startswith("panes")]


_SOME = max(settings.default.max_examples // 3, 3) if settings.default else 3


@pytest.mark.parametrize("name", PANES)
@settings(max_examples=_SOME)
@given(seed=st.integers(0, 2**32))
def test_both_ways_give_the_same_rows(name: str, seed: int) -> None:
    spec, rng = pipeline(STEPS[name], "canonical"), random.Random(seed)
    log = interleaved(drawn_log(seed, 40), rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(two_stage, "why_one_stage", lambda _: "the test says so")
        one = fed(spec, log, rng, restarts=False)
    two = fed(spec, log, rng, restarts=True)
    assert [flow.shard for flow in (*two.plan.flows, *one.plan.flows)] == [
        TwoStagePart,
        RowShardPart,
    ]
    assert sorted(row_lines(two.output.rows)) == sorted(row_lines(one.output.rows))


@pytest.mark.parametrize("name", [name for name in STEPS if name not in PANES])
def test_all_other_steps_run_in_one_stage(name: str) -> None:
    (flow,) = LocalEngine(pipeline(STEPS[name], "canonical")).plan.flows
    assert flow.shard is RowShardPart


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("time(3 us)", "time(5 us)"), "no multiple"),
        (("time(3 us)", "count(3)"), "triggered by time"),
        (("mean: mean(x)", "mean: median(x)"), "median needs every value"),
        (("'SLIDING time(12 us), time(3 us)'", "TUMBLING time(3 us)"), "triggered by time"),
        (
            ("time(3 us)'", "time(3 us) PARTITIONED BY k EVICT partition_count(2)'"),
            "partition eviction",
        ),
    ],
)
def test_the_reason_is_said(change: tuple[str, str], reason: str) -> None:
    step = STEPS["panes"].replace(*change)
    assert step != STEPS["panes"]
    (query,) = pipeline(step, "canonical").flows
    assert reason in (why_one_stage(query) or "")


def test_lane_order_and_the_machines_clock_have_no_panes() -> None:
    (by_lane,) = pipeline(STEPS["panes"], "lane").flows
    (by_wall,) = pipeline(STEPS["panes"] + ", clock: wall", "canonical").flows
    assert "order of the clock" in (why_one_stage(by_lane) or "")
    assert "order of the clock" in (why_one_stage(by_wall) or "")
