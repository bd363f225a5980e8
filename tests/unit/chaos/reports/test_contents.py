"""The index page of all reports, whatever their content."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from chaos.reports.contents import write_contents
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


def test_a_folder_without_reports_has_a_page_too(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["chaos", "contents", str(tmp_path / "none")])
    assert answer.exit_code == 0
    assert json.loads(answer.output)["reports"] == {}
    assert "No plan has run yet" in (tmp_path / "none" / "index.html").read_text()
