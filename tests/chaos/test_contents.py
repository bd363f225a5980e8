"""One page over all reports of a night, whatever they say."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from chaos.contents import write_contents
from slackwater.main import app


def test_the_page_leads_to_every_report(tmp_path: Path) -> None:
    checks = [{"name": "progress", "outcome": "failed"}, {"name": "poison", "outcome": "passed"}]
    reports = {
        "good": {"outcome": "passed", "command": "again <1>", "began": "at night", "checks": []},
        "bad": {"outcome": "failed", "command": "again 2", "checks": checks},
        "odd": {"outcome": "marvellous", "command": "again 3", "checks": []},
    }
    for name, report in reports.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.json").write_text(json.dumps(report))
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "report.json").write_text('{"outcome": "pas')

    found = {"bad": "failed", "good": "passed", "odd": "unknown", "torn": "unknown"}
    assert write_contents(tmp_path) == found
    page = (tmp_path / "index.html").read_text()
    for name in found:
        assert f'href="{name}/report.html"' in page
    assert "progress: failed" in page
    assert "poison" not in page
    assert "again &lt;1&gt;" in page
    assert "cannot be read" in page


def test_the_summary_has_every_fault_with_what_was_measured(tmp_path: Path) -> None:
    kill = {"name": "kill_driver", "evidence": "pid 7 | gone", "recovered_s": 80.5, "batches": 2}
    faults = [
        kill,
        {**kill, "recovered_s": 60.0, "batches": 3},
        {**kill, "recovered_s": 70.0},
        {"name": "fill_disk", "unsupported": "no tmpfs"},
        {"name": "kill_broker", "no_effect": "none runs"},
    ]
    checks = [{"name": "state", "outcome": "passed", "detail": "3 rows, <none> differ"}]
    report = {"outcome": "passed", "command": "again", "checks": checks, "faults": faults}
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "report.json").write_text(json.dumps(report))
    write_contents(tmp_path)
    text = (tmp_path / "README.md").read_text()
    kills = "| one | `kill_driver` | 3 of 3 | pid 7 \\| gone | 60.0 / 70.0 / 80.5 s | 2 / 2 / 3 |"
    assert kills in text
    assert "| one | `fill_disk` | 0 of 1 | unsupported: no tmpfs | – | – |" in text
    assert "| one | `kill_broker` | 0 of 1 |" in text
    assert "- state (passed): 3 rows, <none> differ" in text


def test_a_folder_without_reports_has_a_page_too(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["chaos", "contents", str(tmp_path / "none")])
    assert answer.exit_code == 0
    assert json.loads(answer.output)["reports"] == {}
    assert "No plan has run yet" in (tmp_path / "none" / "index.html").read_text()
