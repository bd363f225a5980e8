"""Which sliding aggregates run in two stages, and why the others do not."""

from __future__ import annotations

import pytest

from tests.unit.engine.rows.test_hosted import STEPS, pipeline
from windowing.engine.rows.part import RowShardPart
from windowing.engine.rows.two_stage import TwoStagePart, why_one_stage
from windowing.runtime.local import LocalEngine


@pytest.mark.parametrize("name", STEPS)
def test_only_panes_have_two_stages(name: str) -> None:
    (flow,) = LocalEngine(pipeline(STEPS[name], "canonical")).plan.flows
    assert flow.shard is (TwoStagePart if name.startswith("panes") else RowShardPart)


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
