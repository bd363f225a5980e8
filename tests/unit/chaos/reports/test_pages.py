"""Pages: what they show, how they are written, and folders of them."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.plan import parse_plan
from chaos.reports.pages import ReportFolderError, claim, write_contents, write_together
from chaos.run.runner import PreparedPlan, run_plans
from infra.layout import Layout
from slackwater.main import app
from tests.unit.test_tidy import ROOT, tracked
from windowing.files.whole_files import WriteError

# What makes a browser fetch something by itself; a plain link waits to be followed.
_LOADS = re.compile(
    r"""<(?:script|link|iframe|img|source|video|audio|object|embed|base|form)\b[^>]*?
        (?:src|href|data|action|srcset)\s*=\s*["']?\s*(?!data:)(?:[a-z+]+:)?//
      | @import | url\(\s*["']?(?:[a-z+]+:)?// | \bfetch\( | XMLHttpRequest
      | http-equiv(?!="refresh") | http-equiv="refresh"[^>]*url | <script\b""",
    re.IGNORECASE | re.VERBOSE,
)
KILLED = """
import os, signal, sys
from pathlib import Path
from chaos.reports.pages import write_together

class Dies(str):
    def encode(self):
        os.kill(os.getpid(), signal.SIGKILL)

write_together(Path(sys.argv[1]), {"report.html": "<p>half", "report.json": Dies()})
"""
WRITERS = (
    *("reports/report.py", "batch_comparison/report.py"),
    *("replay/shadow.py", "nightly/verdicts.py"),
)
PLAN = """\
name: small
pipeline: p.yml
workload: {flights: 1000, max_offsets: 10}
faults: [poison_records]
recovery: {within: 1 minute}
"""
PIPELINE = (Path(__file__).parents[4] / "pipelines" / "flight_delays.yml").read_text()
CUTS = "{kind: cuts, name: c, pipeline: p.yml, workload: {flights: 500}, cuts: [9, 99], draw: n}"


def pages() -> list[Path]:
    """Whatever holds HTML: templates, and code that writes a page itself."""
    found = [path for path in tracked() if path.name.endswith((".html.j2", ".html"))]
    code = [path for path in tracked() if path.suffix == ".py" and path.parts[0] != "tests"]
    found += [p for p in code if "<!doctype" in (ROOT / p).read_text(encoding="utf-8").lower()]
    assert len(found) >= 6
    return found


@pytest.mark.parametrize(
    ("html", "loads"),
    [
        ('<script src="https://localhost/x.js"></script>', True),
        ("<link rel=stylesheet href=//localhost/x.css>", True),
        ("<img src='http://localhost/1.png'>", True),
        ("<style>@import 'x.css'</style>", True),
        ("<style>a { background: url(https://localhost/a.png) }</style>", True),
        ('<img src="data:image/png;base64,AA">', False),
        ('<meta http-equiv="refresh" content="0; url=//localhost/">', True),
        ('<meta http-equiv="set-cookie" content="a">', True),
        ('<meta http-equiv="refresh" content="30">', False),
        ('<a href="https://localhost/">a plain link</a>', False),
        ('<a href="report.html">ours</a>', False),
    ],
)
def test_the_search_finds_loads_and_no_links(html: str, loads: bool) -> None:
    assert bool(_LOADS.search(html)) == loads


def test_no_page_loads_anything_from_elsewhere() -> None:
    guilty = {
        str(path): found[0]
        for path in pages()
        if (found := _LOADS.search((ROOT / path).read_text(encoding="utf-8")))
    }
    assert not guilty


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


def test_a_killed_command_leaves_the_old_pages(tmp_path: Path) -> None:
    for name in ("report.html", "report.json"):
        (tmp_path / name).write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "report.html": "old",
        "report.json": "old",
    }


def test_pages_appear_together(tmp_path: Path) -> None:
    write_together(tmp_path, {"a.html": "ä", "b.bin": b"\0"})
    assert (tmp_path / "a.html").read_text("utf-8") == "ä"
    assert (tmp_path / "b.bin").read_bytes() == b"\0"
    (tmp_path / "dir").mkdir()
    with pytest.raises(WriteError):
        write_together(tmp_path, {"a.html": "new", "dir": "no file"})
    assert (tmp_path / "a.html").read_text("utf-8") == "ä"


@pytest.mark.parametrize("name", WRITERS)
def test_every_report_is_written_so(name: str) -> None:
    tree = ast.parse((ROOT / "chaos" / name).read_text())
    called = {
        n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in ast.walk(tree)
    }
    assert called & {"write_together", "write_report"}
    assert not called & {"write_text", "write_bytes", "open"}


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A user's folder, such as a checkout."""
    folder = tmp_path / "theirs"
    (folder / "pipelines").mkdir(parents=True)
    (folder / "pipelines" / "p.yml").write_text(PIPELINE)
    (folder / "README.md").write_text("mine")
    (folder / "report.json").write_text("{}")
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def refused(arguments: list[str], folder: Path) -> None:
    before = contents(folder)
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == 2, answer.output
    said = " ".join(answer.output.split())
    assert "which no report made" in said
    assert "new or empty" in said
    assert contents(folder) == before


def test_a_report_is_not_written_among_the_files_of_somebody(tmp_path: Path, theirs: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yml").write_text(PLAN)
    (tmp_path / "c.yml").write_text(CUTS)
    (tmp_path / "p.yml").write_text(PIPELINE)
    run = ["chaos", "run", "--state-dir", str(tmp_path / "state"), "--report", str(theirs)]
    refused([*run, str(tmp_path / "a.yml")], theirs)
    refused([*run, str(tmp_path / "c.yml")], theirs)
    refused([*run, str(tmp_path / "a.yml"), str(tmp_path / "b.yml")], theirs)


def test_nor_is_a_page_of_contents_a_shadow_or_a_night(tmp_path: Path, theirs: Path) -> None:
    refused(["chaos", "contents", str(theirs)], theirs)
    pipeline = str(theirs / "pipelines" / "p.yml")
    shadow = ["replay", pipeline, "--shadow", pipeline, "--input", pipeline]
    refused([*shadow, "--report", str(theirs)], theirs)
    refused(["chaos", "nightly", "--verdicts", str(theirs), "--work", str(tmp_path)], theirs)


def test_a_folder_of_ours_is_written_again(tmp_path: Path) -> None:
    claim(tmp_path / "new")
    (tmp_path / "new" / "report.html").touch()
    claim(tmp_path / "new")
    claim(tmp_path)  # holds folders of reports
    (tmp_path / "notes.txt").touch()
    claim(tmp_path)


def test_a_report_from_before_there_was_a_mark_is_known(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").touch()
    with pytest.raises(ReportFolderError, match=r"holds 'history.jsonl'"):
        claim(tmp_path)
    report = dict.fromkeys(("plan", "outcome", "command", "checks"))
    (tmp_path / "report.json").write_text(json.dumps(report))
    claim(tmp_path)


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ReportFolderError, match=r"file cannot be written \(File exists\)"):
        claim(tmp_path / "file")


def test_a_run_of_plans_deletes_nothing_in_the_folder_of_its_report(
    tmp_path: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow gets only the run's pipelines, in the run's own folder."""
    seen: list[Layout] = []

    def no_stack(_kind: str, layout: Layout, *_: object, **__: object) -> object:
        names = [path.name.partition("-")[0] for path in layout.pipelines.iterdir()]
        assert names == ["flight_delays"]
        seen.append(layout)
        raise KeyboardInterrupt

    monkeypatch.setattr("chaos.run.runner.stack_under_test", no_stack)
    before = contents(theirs)
    (tmp_path / "p.yml").write_text(PIPELINE)
    order = PreparedPlan(parse_plan(PLAN), tmp_path / "plan.yml", theirs, [])
    layout = Layout(tmp_path / "state")
    with pytest.raises(KeyboardInterrupt):
        run_plans([order], seed=1, layout=layout, news=lambda _: None)
    assert contents(theirs) == before
    assert replace(seen[0], pipelines=layout.pipelines) == layout
    assert not seen[0].pipelines.exists()
