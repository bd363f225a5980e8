"""Conformance to the window language: all recorded cases, and a judge that notices differences."""

from pathlib import Path

import pytest

from conformance.wid import judge as wid
from conformance.wid.case import Case, CaseError

FILE = Path(__file__).parents[2] / "data" / "wid" / "windows.jsonl"
CASES = {case.id: case for case in wid.read_cases(FILE)}


def test_there_are_cases() -> None:
    assert len(CASES) == 157


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_case_by_definition_in_any_order_of_arrival(case: Case) -> None:
    verdict = wid.judge(case, wid.by_definition, "definition", interleavings=5)
    assert verdict.difference is None


def test_a_changed_row_a_missing_one_and_an_extra_one_are_told_apart() -> None:
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
