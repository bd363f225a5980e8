"""A package of a user's, with one toy of each kind: nothing inside the product knows of it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chaos.errors import FaultDidNotApply
from chaos.faults import FAULTS, fault_named
from chaos.job_under_test import striking
from chaos.plan import parse_plan
from chaos.quality.batches import output_of
from chaos.readers.catalogue import read_output
from chaos.run.first_plan import PlanLog, first_plan
from chaos.verdict.catalogue import CHECKS
from chaos.verdict.check import Outcome
from infra import layout
from infra.errors import SettingsError
from infra.project import Sort, choose
from tests.unit.sinks.test_sink_tokens import PIPELINE, batches
from windowing.model import parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.registry import GROUPS, PLUGINS_VARIABLE, PluginError
from windowing.model.run_errors import TokenMismatch
from windowing.spark.sinks import RunPlace, sink_of

PLAN = """\
name: small
pipeline: p.yml
workload: {flights: 1000, max_offsets: 10}
faults:
  - {fault: stray_file, hold: 3 s}
recovery: {within: 1 minute}
"""
LINES = PIPELINE.text + "sink: {lines: out}\n"


def declare(monkeypatch: pytest.MonkeyPatch, **groups: dict[str, str]) -> None:
    monkeypatch.setenv(PLUGINS_VARIABLE, json.dumps(groups))


def test_nobody_knows_a_package_that_is_not_installed() -> None:
    assert "stray_file" not in FAULTS
    with pytest.raises(PipelineError, match="'stray_file' is not allowed"):
        parse_plan(PLAN)
    with pytest.raises(PipelineError, match="unknown key 'lines'"):
        parse_pipeline(LINES)


def test_a_fault_is_known_to_plans_and_first_plans(tidepool: Path) -> None:
    plan = parse_plan(PLAN, "plan.yml")
    assert plan.faults[0].hold_us == 3_000_000
    assert [*FAULTS][-1] == striking()[-1] == "stray_file"
    text = first_plan(PIPELINE, tidepool / "p.yml", PlanLog(), tidepool)
    assert "#  - stray_file" in text
    with pytest.raises(PipelineError, match="stray_file takes no records"):
        parse_plan(PLAN.replace("hold: 3 s", "records: 3"))


def test_a_fault_strikes_and_heals(tidepool: Path, tmp_path: Path) -> None:
    attack, context = fault_named("stray_file", hold_s=0.5), SimpleNamespace(checkpoint=tmp_path)
    assert attack.hold_s == 0.5
    with pytest.raises(FaultDidNotApply):
        attack.inject(context)  # type: ignore[arg-type]
    (tmp_path / "offsets").mkdir()
    assert attack.inject(context) == "a stray file lies in offsets/"  # type: ignore[arg-type]
    attack.heal(context)  # type: ignore[arg-type]
    assert not [*(tmp_path / "offsets").iterdir()]


def test_a_check_is_part_of_plans_and_judges(tidepool: Path) -> None:
    assert "no_dead_letters" in parse_plan(PLAN).checks
    kind = CHECKS["no_dead_letters"]
    run: Any = SimpleNamespace(output=SimpleNamespace(dead=[(("q",), "a line")]), faults=[])
    assert kind.when(run)
    assert kind.judge(run).outcome is Outcome.failed
    assert not kind.when(SimpleNamespace(faults=["poison_records"]))  # type: ignore[arg-type]


def test_a_check_that_raises_shows_nothing(tidepool: Path) -> None:
    found = CHECKS["no_dead_letters"].judge(SimpleNamespace(output=None))  # type: ignore[arg-type]
    assert found.outcome is Outcome.unknown
    assert "tidepool.check.no_dead_letters raised AttributeError" in found.detail


def test_reading_a_pipeline_imports_no_sink(tidepool: Path) -> None:
    pipeline = parse_pipeline(LINES)
    assert (pipeline.destination.kind, pipeline.output) == ("lines", "out")
    assert "tidepool" not in sys.modules
    with pytest.raises(PipelineError, match=r"sink: \{postgres: NAME\} or sink: \{lines: NAME\}"):
        parse_pipeline(LINES.replace("{lines: out}", "{lines: out, table: out}"))


def test_a_sink_writes_once_and_its_reader_reads(tidepool: Path, tmp_path: Path) -> None:
    pipeline = parse_pipeline(LINES)
    place = RunPlace(pipeline, "r1", tmp_path)
    for _ in range(2):  # a driver that died, and begins again
        sink = sink_of(pipeline).open(place)
        for number, frames in enumerate(batches(3, 7, 9)):
            sink.take(frames, number)
    kept = sink_of(pipeline).kept(pipeline, tmp_path, "r1", since=1)
    assert [*kept.tokens] == [1, 2]
    found = read_output(pipeline, tmp_path, "r1")
    assert len(found.rows) == len({identity for identity, _ in found.rows}) == 8
    frames, _ = output_of(pipeline, tmp_path, "r1", [])  # as `quality` judges them
    assert len(frames.rows(pipeline.flows[0])) == frames.size() == 8
    with pytest.raises(TokenMismatch):
        sink_of(pipeline).open(place).take([*batches(3, 8)][1], 1)


def test_a_sink_without_a_reader_cannot_be_verified(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    declare(monkeypatch, sinks={"mute": "tidepool.sink:LinesSink"})
    pipeline = parse_pipeline(LINES.replace("lines", "mute"))
    with pytest.raises(PluginError, match=r"no reader is there for sink: \{mute: NAME\}"):
        read_output(pipeline, tmp_path, "r1")


def test_a_project_says_it_in_its_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tidepool: Path
) -> None:
    """They reach every process by the environment, as all settings do."""
    for name in ("STATE_DIR", "PIPELINES", "PLANS", "PYTHON", "PROJECT"):
        monkeypatch.setenv(f"SLACKWATER_{name}", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setenv(PLUGINS_VARIABLE, "")
    monkeypatch.delenv(PLUGINS_VARIABLE)
    file = tmp_path / "slackwater.yml"
    file.write_text("plugins: {faults: {leave_it: tidepool.fault:StrayFile}}\n")
    choose(tmp_path)
    assert json.loads(os.environ[PLUGINS_VARIABLE]) == {
        "faults": {"leave_it": "tidepool.fault:StrayFile"}
    }
    file.write_text("plugins: {faults: {leave_it: tidepool.fault}}\n")
    with pytest.raises(SettingsError, match=r"plugins\.faults\.leave_it"):
        choose(tmp_path)
    file.write_text("plugins: {moons: {}}\n")
    with pytest.raises(SettingsError, match=r"plugins\.moons"):
        choose(tmp_path)


def test_a_project_declares_the_same(monkeypatch: pytest.MonkeyPatch, tidepool: Path) -> None:
    """Beside entry points; what both name alike is one plug-in."""
    declare(monkeypatch, faults={"stray_file": "tidepool.fault:StrayFile"})
    assert parse_plan(PLAN).faults[0].fault == "stray_file"
    assert layout.PLUGINS_VARIABLE == PLUGINS_VARIABLE
    assert Sort.__args__ == GROUPS


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("gone", "nowhere.at_all:Gone", r"gone = nowhere.at_all:Gone .* cannot be imported: Mod"),
        ("dumps", "json:dumps", r"dumps = json:dumps .* is no fault: put @fault\('dumps'\) on it"),
        ("lacks", "tidepool.fault:Other", r"lacks = tidepool.fault:Other .* cannot be imported"),
        ("kill_broker", "tidepool.fault:StrayFile", r"cannot be the fault 'kill_broker': chaos"),
        ("stray_file", "tidepool.check:x", r"has the name of tidepool.fault:StrayFile: give one"),
    ],
)
def test_a_mistake_in_a_plug_in_is_one_sentence_that_names_it(
    monkeypatch: pytest.MonkeyPatch, tidepool: Path, name: str, value: str, said: str
) -> None:
    declare(monkeypatch, faults={name: value})
    with pytest.raises(PluginError, match=said) as raised:
        FAULTS[name]
    assert "\n" not in str(raised.value)
    with pytest.raises(PipelineError, match=said):
        parse_plan(PLAN.replace("{fault: stray_file, hold: 3 s}", name), "plan.yml")
