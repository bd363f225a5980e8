"""Draws cover every syntax, every edge and every mechanism: what is never drawn is never found."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from typer.testing import CliRunner

from chaos.simulator import simulate as module
from chaos.simulator.coverage import least_percent, too_rare
from chaos.simulator.draw.clock import draw_spelling
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import draw_case
from chaos.simulator.simulate import SimulationReport
from slackwater.main import app
from windowing.engine.effects import MECHANISMS, Mechanism
from windowing.model.file.pipeline import parse_pipeline
from windowing.semantics.values import read_iso

ENOUGH = Counter(dict.fromkeys(MECHANISMS, 40))


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


def test_what_never_took_effect_in_two_hundred_runs_is_too_rare() -> None:
    assert too_rare(Counter(), 200) == [*MECHANISMS]
    assert not too_rare(ENOUGH, 200)


@pytest.mark.parametrize(("one", "percent"), [("families", 5), ("fused plan", 20)])
def test_a_share_is_too_small_by_more_than_chance(one: Mechanism, percent: int) -> None:
    assert least_percent(one) == percent
    runs = 10_000
    assert too_rare(ENOUGH | Counter({one: runs}), 200) == []
    met = Counter(dict.fromkeys(MECHANISMS, runs))
    assert too_rare(met | Counter(), runs) == []
    met[one] = runs * percent // 100 - 10
    assert too_rare(met, runs) == []
    met[one] = runs * percent // 100 * 3 // 4
    assert too_rare(met, runs) == [one]


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (SimulationReport(200, mechanisms=ENOUGH, pairs=set()), 0),
        (SimulationReport(200, pairs=set()), 1),
        (SimulationReport(200, mechanisms=ENOUGH, planned=Counter(fault=1), pairs=set()), 1),
    ],
    ids=["all there", "a mechanism is missing", "a fault without effect"],
)
def test_the_command_fails_for_it(
    report: SimulationReport, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "simulate", lambda *_, **__: report)
    result = CliRunner().invoke(app, ["chaos", "simulate", "--complete", "--runs", "200"])
    assert result.exit_code == code
    assert report.complete == (code == 0)


@pytest.mark.parametrize("other", ["--pipeline", "--replay", "--guilty"])
def test_only_random_runs_of_the_engine_itself_can_be_complete(other: str) -> None:
    result = CliRunner().invoke(app, ["chaos", "simulate", "--complete", other, "x"])
    assert result.exit_code == 2
    assert "--complete judges random runs" in result.output
