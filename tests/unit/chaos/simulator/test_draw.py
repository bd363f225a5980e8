"""Draws cover every syntax and every edge: the simulator cannot find what is never drawn."""

from __future__ import annotations

import random
import re

import pytest

from chaos.simulator.draw.clock import draw_spelling
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import draw_case
from windowing.model.file.pipeline import parse_pipeline
from windowing.semantics.values import read_iso


@pytest.mark.parametrize("ts_us", [0, -1, 500_000, 1_700_000_000_123_000, -86_400_000_001])
def test_an_iso_time_is_spelled_in_every_way_that_means_it(ts_us: int) -> None:
    rng = random.Random(1)
    drawn = {str(draw_spelling(rng, ts_us, "iso")) for _ in range(400)}
    assert {read_iso(text) for text in drawn} == {ts_us}
    zones = {re.sub(r".*T[\d:.]+", "", text) for text in drawn}
    assert {"", "Z"} < zones
    assert any(zone.startswith("-") for zone in zones)
    assert any(zone.startswith("+") for zone in zones)
    digits = {len(part) for text in drawn for part in re.findall(r"\.(\d+)", text)}
    needed = len(f"{ts_us % 1_000_000:06d}".rstrip("0"))
    assert digits | {0} == {0, *range(max(needed, 1), 7)}


def test_control_records_name_instants_at_all_edges() -> None:
    """At the last legal claim, far beyond it, and long before all records."""
    found, all_ = set[object](), {"max", 2**63 - 1, 2 - 2**63}
    for number in range(600):
        if found == all_:
            break
        case = draw_case(5, number, EngineParts())
        ends = {part.event_time.end_us for part in parse_pipeline(case.pipeline).source.parts}
        controls = [event.get("control") for lane in case.lanes for event in lane]
        for control in controls:
            if isinstance(control, dict) and type(bound := control.get("bound")) is int:
                found |= {"max"} if bound in ends else set()
                found |= {bound} & {2**63 - 1, 2 - 2**63}
    assert found == all_
