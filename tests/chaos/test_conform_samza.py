"""Conformance to the window operator: all recorded scenarios, and a judge that notices."""

from pathlib import Path

import pytest

from chaos.conform import samza
from chaos.conform.samza_case import Scenario, read_scenarios
from chaos.conform.wid_case import CaseError
from slackwater import conform_samza

FILE = Path(__file__).parents[1] / "data" / "samza" / "scenarios.jsonl"
SCENARIOS = {scenario.id: scenario for scenario in read_scenarios(FILE)}


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) == 80
    assert sum(scenario.of_the_log for scenario in SCENARIOS.values()) > 20


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_every_scenario_by_our_operators(scenario: Scenario) -> None:
    assert conform_samza.judge(scenario, SCENARIOS).difference is None


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
    difference = samza.judge(spoilt, conform_samza.drive, "operators").difference
    assert difference is not None
    assert difference.startswith(f"step {step}, {field}:")
    final = SCENARIOS[name].model_copy(
        update={"expected": {**SCENARIOS[name].expected, "final": {"progress": -77}}}
    )
    difference = samza.judge(final, conform_samza.drive, "operators").difference
    assert difference is not None
    assert difference.startswith("final, ")


def test_a_line_that_is_no_scenario_is_named(tmp_path: Path) -> None:
    file = tmp_path / "scenarios.jsonl"
    file.write_text('\n{"id": "x"}\n')
    with pytest.raises(CaseError, match=r"scenarios.jsonl:2: not a scenario"):
        list(read_scenarios(file))
