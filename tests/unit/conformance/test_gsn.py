"""The recorded sliding graphs, and what makes a case fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.drivers.gsn_graphs import Graphs
from conformance.gsn.case import GraphCase, read_cases
from conformance.wid.case import CaseError

CASES = {case.id: case for case in read_cases(Path("tests/data/gsn/graphs.jsonl"))}
FIGURE = CASES["fixed/paper-fig3"]


def difference(case: GraphCase) -> str | None:
    return Graphs().run(case).verdicts[0].difference


def test_graphs_are_as_recorded() -> None:
    assert not {name: found for name, case in CASES.items() if (found := difference(case))}


def test_another_cost_is_found() -> None:
    plain = FIGURE.expected["plain"] | {"tests": "7"}
    found = difference(FIGURE.model_copy(update={"expected": {"plain": plain}}))
    assert found == "plain.tests: expected 7, got 4427/660"


def test_another_tree_after_a_step_is_found() -> None:
    steps = [FIGURE.steps[0].model_copy(update={"root": 2}), *FIGURE.steps[1:]]
    found = difference(FIGURE.model_copy(update={"steps": steps}))
    assert found == "step 0.root: expected 2, got 1"


def test_a_value_that_nobody_computes_is_found() -> None:
    plain = FIGURE.expected["plain"] | {"depth": 4}
    found = difference(FIGURE.model_copy(update={"expected": {"plain": plain}}))
    assert found == "plain.depth: expected 4, got nothing"


def test_a_line_that_is_not_a_case_is_named(tmp_path: Path) -> None:
    file = tmp_path / "graphs.jsonl"
    file.write_text(json.dumps(json.loads(FIGURE.model_dump_json()) | {"slides": [0]}))
    with pytest.raises(CaseError, match=r":1: not a case of a sliding graph: slides\.0"):
        list(read_cases(file))
