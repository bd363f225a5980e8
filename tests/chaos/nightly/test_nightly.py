"""The nightly run: its parts, failing parts, and the page of verdicts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.nightly.parts import Part, all_parts, choose
from chaos.nightly.run import run_parts
from chaos.nightly.verdicts import PartVerdict, keep, read_verdicts
from chaos.verdict.check import Outcome
from slackwater.main import app

HERE = Path(__file__)
PARTS = all_parts(1, Path("reports"))


def python(name: str, code: str, **more: object) -> Part:
    return Part(name, (sys.executable, "-c", code), **more)  # type: ignore[arg-type]


def test_every_plan_is_a_part_and_what_a_part_runs_exists() -> None:
    plans = [file for file in Path("chaos/plans").rglob("*.yml") if file.parent.name != "pipelines"]
    named = {argument for part in PARTS for argument in part.command}
    assert {str(plan) for plan in plans} <= named
    assert len({part.name for part in PARTS}) == len(PARTS)
    for part in PARTS:
        for argument in part.command:
            assert not argument.startswith(("tests/", "chaos/")) or Path(argument).exists()


def test_every_test_that_is_left_to_the_night_is_in_a_part() -> None:
    ran = {argument for part in PARTS for argument in part.command}
    files = [file for file in Path("tests").rglob("test_*.py") if file != Path(*HERE.parts[-4:])]
    at_night = {file for file in files if "mark.nightly" in file.read_text(encoding="utf-8")}
    assert len(at_night) > 5
    found = {file for file in at_night if not ran.isdisjoint(map(str, [file, *file.parents]))}
    assert at_night - found == set()


def test_parts_are_chosen_by_name_and_by_group() -> None:
    assert choose(PARTS, []) == PARTS
    assert [part.name for part in choose(PARTS, ["plan:kills"])] == ["plan:kills"]
    assert {part.name for part in choose(PARTS, ["simulate"])} == {
        f"simulate:{n}" for n in (1, 2, 3)
    }
    answer = CliRunner().invoke(app, ["chaos", "nightly", "plan:nonsense"])
    assert answer.exit_code == 2


def test_a_part_that_fails_holds_up_nothing_and_says_its_last_line(tmp_path: Path) -> None:
    parts = [
        python("bad", "print('so far'); print('it broke'); raise SystemExit(1)"),
        python("open", "raise SystemExit(3)"),
        python("good", "import os; print(os.environ['DEEP'])", environment={"DEEP": "down"}),
    ]
    seen: list[str] = []
    found = run_parts(parts, tmp_path, lambda verdict: seen.append(verdict.part), lambda _: None)
    assert seen == ["bad", "open", "good"]
    assert [verdict.outcome for verdict in found] == [
        Outcome.failed,
        Outcome.unknown,
        Outcome.passed,
    ]
    assert [verdict.said for verdict in found] == ["it broke", "exit code 3", "down"]
    assert (tmp_path / "bad.log").read_text() == "so far\nit broke\n"


def test_a_plan_without_a_report_says_so(tmp_path: Path) -> None:
    part = python("plan", "pass", report=tmp_path / "none")
    (verdict,) = run_parts([part], tmp_path, lambda _: None, lambda _: None)
    assert verdict.report is not None
    assert "cannot be read" in verdict.report["problem"]


def test_a_part_that_is_run_alone_replaces_its_own_row(tmp_path: Path) -> None:
    kill = {"name": "kill_driver", "evidence": "pid 7 | gone"}
    checks = [{"name": "state", "outcome": "passed", "detail": "3 rows, <none> differ"}]
    faults = [
        {
            "name": "kill_driver",
            "struck": 3,
            "planned": 3,
            "evidence": kill["evidence"],
            "unsupported": "",
            "seconds": [60.0, 70.0, 80.5],
            "batches": [2, 2, 3],
        }
    ]
    report = {"command": "again", "checks": checks, "faults": faults}

    def verdict(part: str, outcome: Outcome, said: str) -> PartVerdict:
        return PartVerdict(part, outcome, "at night", 1.5, "abc+", 2, said, report)

    order = ["first", "second"]
    keep(verdict("second", Outcome.failed, "x | y"), tmp_path, order)
    keep(verdict("first", Outcome.passed, "fine"), tmp_path, order)
    keep(verdict("second", Outcome.passed, "now"), tmp_path, order)
    kept = read_verdicts(tmp_path)
    assert [*kept] == order
    assert kept["second"].said == "now"
    text = (tmp_path / "README.md").read_text()
    assert "| `first` | passed | 1.5 s | at night | abc+ | 2 | fine |" in text
    assert (
        "| first | `kill_driver` | 3 of 3 | pid 7 \\| gone | 60.0 / 70.0 / 80.5 s | 2 / 2 / 3 |"
        in text
    )
    assert "- state (passed): 3 rows, <none> differ" in text
    keep(verdict("second", Outcome.passed, "now"), tmp_path, ["second"])
    assert [*read_verdicts(tmp_path)] == ["second"]


def test_torn_verdicts_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "verdicts.json").write_text(json.dumps([{"part": 1}]))
    with pytest.raises(ValueError, match=r"verdicts\.json holds no verdicts"):
        read_verdicts(tmp_path)
