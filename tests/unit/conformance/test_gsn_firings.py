"""The recorded runs of sliding managers, and what makes a case fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.cases import CaseError
from conformance.drivers.gsn import judge_runs
from conformance.gsn import FiringCase, read_runs

CASES = {case.id: case for case in read_runs(Path("tests/data/gsn/firings.jsonl"))}
BY_MODE = {case.mode: case for case in CASES.values()}


def differences(case: FiringCase, cuts: int = 3) -> list[str]:
    verdicts = judge_runs(case, cuts)
    return [verdict.difference for verdict in verdicts if verdict.difference is not None]


@pytest.mark.parametrize("name", CASES)
def test_runs_are_as_recorded(name: str) -> None:
    assert not differences(CASES[name])


@pytest.mark.parametrize("mode", BY_MODE)
def test_a_run_too_many_or_another_one_is_found(mode: str) -> None:
    case = BY_MODE[mode]
    firings = case.expected["firings"]
    for other in (
        firings[1:],
        [*firings, firings[0]],
        [{**firings[0], "query": "x"}, *firings[1:]],
    ):
        wrong = case.model_copy(update={"expected": {**case.expected, "firings": other}})
        found = differences(wrong, cuts=0)
        assert found
        assert all(one.startswith("firings[") for one in found)


def test_every_schedule_is_judged_on_several_batches() -> None:
    judges = {verdict.judged_by for verdict in judge_runs(BY_MODE["count"], 2)}
    assert {"plain", "graph", "optimised graph", "heap", "wheel", "calendar"} <= judges
    assert "wheel, cut 2" in judges


def test_a_line_that_is_not_a_case_is_named(tmp_path: Path) -> None:
    file = tmp_path / "firings.jsonl"
    file.write_text(json.dumps({"mode": "sundial"}) + "\n")
    with pytest.raises(CaseError, match=":1: not a case of a sliding manager"):
        list(read_runs(file))
