"""Conformance to the window operator: all recorded scenarios, and a judge that notices."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from conformance import samza
from conformance.cases import CaseError, NotExpressible
from conformance.drivers import samza_logs, samza_standalone
from conformance.drivers.samza_logs import DEFINITION
from conformance.drivers.samza_pipeline import AsPipeline, as_pipeline
from conformance.samza import Scenario, read_scenarios
from slackwater.main import app
from tests.sampling import sampled

FILE = Path(__file__).parents[2] / "data" / "samza" / "scenarios.jsonl"
SCENARIOS = {scenario.id: scenario for scenario in read_scenarios(FILE)}


ASKED = {
    name: question
    for name, scenario in SCENARIOS.items()
    if isinstance(question := as_pipeline(scenario), AsPipeline)
}


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) == 80
    assert sum(scenario.of_the_log for scenario in SCENARIOS.values()) > 20


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_every_scenario_by_our_operators(scenario: Scenario) -> None:
    assert samza_standalone.judge(scenario, SCENARIOS).difference is None


def test_most_scenarios_of_the_log_can_be_asked_of_a_pipeline() -> None:
    kinds = [question.scenario.operator for question in ASKED.values()]
    assert [kinds.count(kind) for kind in ("aggregate", "session", "join")] == [28, 12, 6]
    left_out = {name for name, one in SCENARIOS.items() if one.of_the_log} - ASKED.keys()
    for name in left_out:
        config = SCENARIOS[name].config
        assert "rows" in (config.get("axis"), config.get("window", {}).get("unit")), name


@pytest.mark.parametrize("name", sampled(ASKED, every=3))
def test_a_pipeline_gives_what_the_operator_gives(name: str) -> None:
    assert samza_logs.judge(ASKED[name], interleavings=1).difference is None


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_the_definition_says_the_same_of_every_log(scenario: Scenario) -> None:
    found = DEFINITION.run(scenario)
    assert isinstance(found, NotExpressible) != scenario.of_the_log
    if not isinstance(found, NotExpressible):
        assert [verdict.difference for verdict in found] == [None]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("late/wall_batched", "it goes by the wall clock"),
        ("example/orders_rows3_past_end", "windows of rows are sent with the row after them"),
        ("crash/standalone", "rows wait until they are fetched"),
    ],
)
def test_what_a_driver_cannot_ask_it_says_with_the_reason(name: str, why: str) -> None:
    assert samza_logs.local_engine(0).run(SCENARIOS[name]) == NotExpressible(why)


def test_the_summary_counts_what_a_driver_cannot_ask() -> None:
    answer = CliRunner().invoke(app, ["conform", "samza", str(FILE), "--by", "definition"])
    *lines, summary = answer.stdout.splitlines()
    assert answer.exit_code == 0
    left_out = sum("not expressible: it depends on calls" in line for line in lines)
    assert lines.pop() == f"{left_out} not expressible (by definition)"
    assert len(lines) == len(SCENARIOS)
    assert summary == f"{80 - left_out} passed, 0 failed"


def test_a_row_that_a_pipeline_does_not_give_is_named() -> None:
    question = ASKED["session/merge_two_closed"]
    steps = [
        {**step, "out": step.get("out", [])[1:]} for step in question.scenario.expected["steps"]
    ]
    spoilt = question.scenario.model_copy(update={"expected": {"steps": steps}})
    difference = samza_logs.judge(replace(question, scenario=spoilt), 0).difference
    assert difference is not None
    assert difference.startswith("run 0, rows: missing [], not expected ['{")


@pytest.mark.parametrize(
    ("name", "step", "field", "value"),
    [
        ("late/epoch_boundaries", 1, "out", []),
        ("late/drop", 1, "dropped", 9),
        ("replay/offset_gap", 1, "error", None),
        ("retention/boundary", 0, "result", []),
    ],
)
def test_a_changed_field_is_named(name: str, step: int, field: str, value: object) -> None:
    steps = [dict(each) for each in SCENARIOS[name].expected["steps"]]
    steps[step][field] = value if steps[step].get(field) != value else "other"
    spoilt = SCENARIOS[name].model_copy(
        update={"expected": {**SCENARIOS[name].expected, "steps": steps}}
    )
    difference = samza.judge(spoilt, samza_standalone.drive, "operators").difference
    assert difference is not None
    assert difference.startswith(f"step {step}, {field}:")
    final = SCENARIOS[name].model_copy(
        update={"expected": {**SCENARIOS[name].expected, "final": {"progress": -77}}}
    )
    difference = samza.judge(final, samza_standalone.drive, "operators").difference
    assert difference is not None
    assert difference.startswith("final, ")


def test_a_line_that_is_no_scenario_is_named(tmp_path: Path) -> None:
    file = tmp_path / "scenarios.jsonl"
    file.write_text('\n{"id": "x"}\n')
    with pytest.raises(CaseError, match=r"scenarios.jsonl:2: not a scenario"):
        list(read_scenarios(file))
