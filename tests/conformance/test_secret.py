"""The recorded runs of the SECRET simulator, and what makes a case fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.drivers.driver import NotExpressible, Outcome
from conformance.drivers.secret_model import Model
from conformance.secret.case import Case, read_cases
from conformance.wid.case import CaseError
from windowing.other_engines.profiles import SIMULATED

FILE = Path("tests/data/secret/experiments.jsonl")
CASES = {case.id: case for case in read_cases(FILE)}


def difference(case: Case) -> str | None:
    outcome = Model().run(case)
    assert isinstance(outcome, Outcome)
    return outcome.verdicts[0].difference


def test_every_engine_of_the_simulator_has_cases() -> None:
    recorded = {case.engine for case in CASES.values()}
    assert recorded == {profile.name for profile in SIMULATED}


def test_the_model_reports_what_the_simulator_reported() -> None:
    assert not {name: found for name, case in CASES.items() if (found := difference(case))}


def test_a_changed_report_is_found() -> None:
    case = CASES["time/exp1/ex1/w3b3/Flink"]
    reports = [*case.reports]
    reports[1] = reports[1].model_copy(update={"tids": [1]})
    found = difference(case.model_copy(update={"reports": reports}))
    assert found is not None
    assert found.startswith("report 1: expected [1] at ")


def test_a_missing_report_is_found() -> None:
    case = CASES["time/exp1/ex1/w3b3/Flink"]
    found = difference(case.model_copy(update={"reports": case.reports[:-1]}))
    assert found is not None
    assert "expected none, got" in found


def test_another_start_is_found() -> None:
    case = CASES["time/exp1/ex1/w3b3/Storm"]
    found = difference(case.model_copy(update={"t0": 1}))
    assert found == "start: expected 1, got 0"


def test_an_unknown_engine_fails_the_case() -> None:
    case = CASES["time/exp1/ex1/w3b3/Storm"]
    found = difference(case.model_copy(update={"engine": "Esper"}))
    assert found is not None
    assert found.startswith("'Esper' is not an engine with a profile")


def test_outputs_of_products_are_not_judged() -> None:
    case = CASES["time/exp1/ex1/w3b3/Flink"]
    outcome = Model().run(case.model_copy(update={"engine_version": "Flink 1.6.0"}))
    assert isinstance(outcome, NotExpressible)


@pytest.mark.parametrize("change", [{"size": 0}, {"window": "count"}, {"input": [{"tsys": 1}]}])
def test_a_line_that_is_not_a_case_is_named(tmp_path: Path, change: dict[str, object]) -> None:
    case = CASES["time/exp1/ex1/w3b3/Flink"].model_dump() | change
    file = tmp_path / "cases.jsonl"
    file.write_text("\n" + json.dumps(case))
    with pytest.raises(CaseError, match=rf"{file}:2: .*{next(iter(change))}"):
        list(read_cases(file))
