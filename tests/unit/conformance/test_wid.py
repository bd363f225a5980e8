"""Conformance to the window language: all recorded cases, and a judge that notices differences."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conformance import wid
from conformance.cases import CaseError
from conformance.drivers import wid as driver
from conformance.wid import Case
from tests.sampling import sampled
from tests.unit.conformance.wid_cases import CLASSES, GENERATORS, random_case

FILE = Path(__file__).parents[2] / "data" / "wid" / "windows.jsonl"
CASES = {case.id: case for case in wid.read_cases(FILE)}
_EXAMPLES = max(settings.default.max_examples // 3, 4) if settings.default else 4


def test_there_are_cases() -> None:
    assert len(CASES) == 157


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_case_by_definition_in_any_order_of_arrival(case: Case) -> None:
    verdict = wid.judge(case, wid.by_definition, "definition", interleavings=5)
    assert verdict.difference is None


def test_a_changed_row_a_missing_one_and_an_extra_one_are_distinguished() -> None:
    case = CASES["worked/01-tumbling"]
    rows = case.expected["rows"]
    other = [[*rows[0][:-1], -1], *rows[1:]]
    more = [*rows, [99, 990, 1000, None, None, 0, None, 1, 1]]
    for wrong, said in ((other, "rows: expected"), (more, "rows: missing"), (rows[1:], "extra")):
        spoilt = case.model_copy(update={"expected": {**case.expected, "rows": wrong}})
        difference = wid.judge(spoilt, wid.by_definition, "definition").difference
        assert difference is not None
        assert said in difference


@pytest.mark.parametrize("part", ["late", "outside", "progress"])
def test_every_part_is_compared(part: str) -> None:
    case = CASES["worked/14-late-generous-drop"]
    spoilt = case.model_copy(
        update={"expected": {**case.expected, part: [[0, 99, 1, "all", None]]}}
    )
    assert part in str(wid.judge(spoilt, wid.by_definition, "definition").difference)


def test_an_error_that_does_not_come_is_a_failure() -> None:
    case = CASES["worked/01-tumbling"].model_copy(update={"expected": {"error": "E_UNIT"}})
    difference = wid.judge(case, wid.by_definition, "definition").difference
    assert difference == "error: expected E_UNIT, got None"


def test_a_line_that_is_no_case_is_named(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text('\n{"id": "x"}\n')
    with pytest.raises(CaseError, match=r"cases.jsonl:2: not a case"):
        list(wid.read_cases(file))
    with pytest.raises(CaseError, match="cannot be read"):
        list(wid.read_cases(tmp_path / "none.jsonl"))


@pytest.mark.parametrize("name", sampled(CASES, every=11))
def test_the_engine_gives_what_is_expected(name: str) -> None:
    for verdict in driver.judge(CASES[name], interleavings=1):
        assert verdict.difference is None, verdict.line()


def test_a_wrong_expectation_is_noticed() -> None:
    case = CASES["worked/01-tumbling"]
    rows = [[*case.expected["rows"][0][:-1], -1], *case.expected["rows"][1:]]
    spoilt = case.model_copy(update={"expected": {**case.expected, "rows": rows}})
    by_engine = driver.judge(spoilt, interleavings=0)[0]
    assert by_engine.judged_by == "engine"
    assert "rows: expected" in str(by_engine.difference)


def test_the_engine_judges_every_aggregate_that_a_case_asks_for() -> None:
    verdicts = driver.judge(CASES["sliding/slack_time/001"], interleavings=0)
    assert [verdict.judged_by for verdict in verdicts] == ["engine", "definition"]


def expecting(case: Case) -> Case:
    return case.model_copy(update={"expected": wid.by_definition(case)})


# Windows over the very field that is aggregated.
@example(seed=2_473_991_298)
@settings(max_examples=_EXAMPLES)
@given(seed=st.integers(0, 2**32))
def test_the_engine_gives_what_is_defined(seed: int) -> None:
    for verdict in driver.judge(expecting(random_case(seed)), interleavings=1):
        assert verdict.difference is None, verdict.line()


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("kind", CLASSES)
def test_the_cases_show_rows_and_hardly_any_errors(kind: str, generator: str) -> None:
    found = [wid.by_definition(random_case(seed, kind, generator)) for seed in range(40)]
    assert sum("error" in each for each in found) < 20
    assert sum(bool(each.get("rows")) for each in found) > 10
