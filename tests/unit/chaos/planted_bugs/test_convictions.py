"""Test the tester: every planted bug is convicted by its recorded case, by an expected check."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from chaos.planted_bugs import PLANTED_BUGS, convictions
from chaos.planted_bugs.convictions import convicted, conviction
from chaos.simulator.case import read_case, write_case
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import run_case
from slackwater.main import app

FOLDER = Path(__file__).parents[3] / "data" / "convictions"
RECORDED = {path.stem for path in FOLDER.glob("*.json")}
AGAIN = "slackwater chaos simulate --record tests/data/convictions --guilty"


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_a_planted_bug_is_convicted_by_its_recorded_case(name: str) -> None:
    bug, case = PLANTED_BUGS[name], read_case(conviction(FOLDER, name))
    found_by = {finding.check for finding in run_case(case, bug.parts).findings}
    assert found_by & bug.expected, f"search for another case: {AGAIN} {name}"
    assert not run_case(case, EngineParts()).findings, "the engine has this bug, or another one"


def test_every_planted_bug_has_a_case() -> None:
    assert sorted(RECORDED) == sorted(PLANTED_BUGS), f"record one: {AGAIN} NAME"


def record(folder: Path) -> str:
    command = ["chaos", "simulate", "--record", str(folder), "--seed", "11", "--jobs", "1"]
    result = CliRunner().invoke(app, [*command, "--guilty", "sort_is_not_stable", "--runs", "30"])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_records_a_case_unless_there_is_one(tmp_path: Path) -> None:
    file = conviction(tmp_path, "sort_is_not_stable")
    assert "sort_is_not_stable" in record(tmp_path)
    first = read_case(file)
    assert convicted(PLANTED_BUGS["sort_is_not_stable"], first) == ("deterministic",)
    assert "as recorded by deterministic" in record(tmp_path)
    write_case(replace(first, lanes=tuple(() for _ in first.lanes)), file)
    assert "by deterministic" in record(tmp_path)
    assert read_case(file) == first


def test_nobody_is_convicted_by_what_the_engine_itself_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bug = PLANTED_BUGS["join_pairs_twice"]
    case = read_case(conviction(FOLDER, bug.name))
    assert convicted(bug, case)
    monkeypatch.setattr(convictions, "EngineParts", lambda: bug.parts)
    assert not convicted(bug, case)
