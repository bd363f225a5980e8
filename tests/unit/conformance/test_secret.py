"""The recorded runs of the SECRET simulator, and what makes a case fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.cases import CaseError, NotExpressible
from conformance.secret import MODEL, Case, read_cases
from windowing.research.engines.profiles import SIMULATED

ROOM = Path("tests/data/secret")
CASES = {case.id: case for case in read_cases(ROOM / "experiments.jsonl")}
PRODUCTS = {case.id: case for case in read_cases(ROOM / "real_engines.jsonl")}


def difference(case: Case) -> str | None:
    outcome = MODEL.run(case)
    assert not isinstance(outcome, NotExpressible)
    return outcome[0].difference


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


def test_windows_without_known_rules_are_not_judged() -> None:
    case = PRODUCTS["beam-2.6.0/exp1"]
    outcome = MODEL.run(case.model_copy(update={"window": "session"}))
    assert outcome == NotExpressible("no rules are known of session windows in Beam 2.6.0")


@pytest.mark.parametrize("change", [{"size": 0}, {"window": "count"}, {"input": [{"tsys": 1}]}])
def test_a_line_that_is_not_a_case_is_named(tmp_path: Path, change: dict[str, object]) -> None:
    case = CASES["time/exp1/ex1/w3b3/Flink"].model_dump() | change
    file = tmp_path / "cases.jsonl"
    file.write_text("\n" + json.dumps(case))
    with pytest.raises(CaseError, match=rf"{file}:2: .*{next(iter(change))}"):
        list(read_cases(file))


def test_the_rules_of_products_give_their_outputs() -> None:
    assert not {name: found for name, case in PRODUCTS.items() if (found := difference(case))}


@pytest.mark.parametrize("name", list(PRODUCTS))
def test_a_report_without_its_last_tuple_is_found(name: str) -> None:
    case = PRODUCTS[name]
    reports = [*case.reports]
    place = next(place for place, report in enumerate(reports) if len(report.tids) > 1)
    shorter = reports[place].model_copy(update={"tids": reports[place].tids[:-1]})
    reports[place] = shorter
    assert difference(case.model_copy(update={"reports": reports})) is not None


@pytest.mark.parametrize("name", ["flink-1.6.0/sliding-late", "kafka-2.0.0/session-updates"])
def test_reports_in_another_order_are_found(name: str) -> None:
    case = PRODUCTS[name]
    found = difference(case.model_copy(update={"reports": case.reports[::-1]}))
    assert found is not None
    assert found.startswith("report 0: expected ")


def test_a_missing_batch_of_a_dstream_is_found() -> None:
    case = PRODUCTS["spark-2.1.0/exp6-local"]
    reports = [case.reports[0], *case.reports[2:]]
    found = difference(case.model_copy(update={"reports": reports}))
    assert found == "reports are not 3000 ms apart"
