"""Shares of mechanisms: what is too rare, and that simulation can fail for it."""

from __future__ import annotations

from collections import Counter

import pytest
from typer.testing import CliRunner

from chaos.simulator import simulate as module
from chaos.simulator.mechanisms import least_percent, too_rare
from chaos.simulator.simulate import SimulationReport
from slackwater.main import app
from windowing.engine.effects import MECHANISMS, Mechanism

ENOUGH = Counter(dict.fromkeys(MECHANISMS, 40))


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
