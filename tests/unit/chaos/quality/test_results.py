"""What the checks of a run have found is kept over time, and shown."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.quality import QualityReport, QualityResult
from chaos.quality.picture import draw
from chaos.quality.results import FILE, LINES_MAX, history, keep, threshold
from infra.endpoints import Endpoints
from jobs.tools.picture_file import PictureError
from slackwater import quality as command
from slackwater.main import app

AT = datetime(2026, 11, 22, tzinfo=UTC)
NAMES = {"at", "query", "expectation", "passed", "observed", "threshold", "sentence"}


def report_of(*, success: bool = True, results: int = 1) -> QualityReport:
    found = [
        QualityResult("w", f"expect_it_{n}", success, "seen", "max_share 0.1")
        for n in range(results - 1)
    ]
    every = QualityResult(None, "expect_records_to_be_conserved", success, "all there")
    return QualityReport(success, [*found, every], Path("docs") / "index.html", rows=7)


def test_a_check_is_a_line_per_expectation(tmp_path: Path) -> None:
    file = keep(report_of(success=False, results=2), tmp_path, AT)
    assert file == tmp_path / "quality_history.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert all(line.keys() == NAMES for line in lines)
    assert lines[0] == {
        "at": "2026-11-22T00:00:00+00:00",
        "query": "w",
        "expectation": "expect_it_0",
        "passed": False,
        "observed": "seen",
        "threshold": "max_share 0.1",
        "sentence": "w: not met: it 0 (max_share 0.1): seen",
    }
    assert lines[1]["query"] == "*"
    assert lines[1]["threshold"] is None
    assert lines[1]["sentence"] == "every query: not met: records to be conserved: all there"
    assert [vars(one) for one in history(tmp_path)] == lines


def test_the_oldest_checks_go_whole(tmp_path: Path) -> None:
    """The cut falls into a check of three lines, two of which would be left."""
    for hour in range(2):
        keep(report_of(results=3), tmp_path, AT + timedelta(hours=hour))
    file = tmp_path / FILE
    old, new = file.read_text().splitlines()[:3], file.read_text().splitlines()[3:]
    fill = (LINES_MAX - 2 - 3) // 3 * 3
    for more, shortened in ((1000, True), (999, False)):
        lines = [*old * (more // 3 + 1), *new * (fill // 3 + 1)]
        lines = lines[len(lines) - (LINES_MAX + more - 2) :]
        file.write_text("\n".join(lines) + "\n")
        keep(report_of(success=False, results=3), tmp_path, AT + timedelta(hours=2))
        kept = history(tmp_path)
        assert [one.passed for one in kept[-4:]] == [True, False, False, False]
        assert (len(kept) <= LINES_MAX) is shortened
        if shortened:
            assert {one.at for one in kept} == {
                (AT + timedelta(hours=hour)).isoformat() for hour in (1, 2)
            }
            assert len(kept) > LINES_MAX - 10


def test_a_line_that_was_cut_off_takes_no_other_with_it(tmp_path: Path) -> None:
    keep(report_of(), tmp_path, AT)
    file = tmp_path / FILE
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:40])
    assert len(history(tmp_path)) == 1
    keep(report_of(success=False), tmp_path, AT)
    assert [one.passed for one in history(tmp_path)] == [True, False]
    assert history(tmp_path / "elsewhere") == []


def test_checks_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    threads = [
        threading.Thread(target=lambda: [keep(report_of(results=5), tmp_path) for _ in range(20)])
        for _ in range(4)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    found = history(tmp_path)
    assert len(found) == 4 * 20 * 5
    assert [one.expectation for one in found[:5]] == [one.expectation for one in found[5:10]]


def test_a_threshold_is_what_the_file_says() -> None:
    assert threshold({"max_share": 0.1, "last": 3, "notes": "why"}) == "max_share 0.1, last 3"
    assert threshold({"severity": "warning"}) is None


def test_the_picture_has_both_kinds(tmp_path: Path) -> None:
    for hour in range(3):
        keep(report_of(success=hour != 1, results=2), tmp_path, AT + timedelta(hours=hour))
    draw(history(tmp_path), tmp_path / "history.svg")
    drawn = (tmp_path / "history.svg").read_text()
    assert "not met (2)" in drawn
    assert "<!-- met (4) -->" in drawn
    with pytest.raises(PictureError):
        draw(history(tmp_path), tmp_path / "history.gif")


PIPELINE = """\
name: p
source:
  {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us}, fields: {},
   disorder: ordered}
queries:
  w: {window: RANGE 10 us SLIDE 10 us WATTR ts, aggregates: {n: count}}
"""


def test_the_command_shows_the_history_though_nothing_is_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from infra import stack
    from jobs.runs import choice

    class Of:
        folder, run = tmp_path, "r1"

    monkeypatch.setattr(stack, "endpoints", lambda **_: object.__new__(Endpoints))
    monkeypatch.setattr(choice, "meant", lambda *_: Of)
    file = tmp_path / "p.yml"
    file.write_text(PIPELINE)
    call = CliRunner().invoke
    none = call(app, ["quality", str(file), "--history", "--json"])
    assert (none.exit_code, none.stdout) == (0, "[]\n")
    assert "was not checked yet" in none.stderr
    keep(report_of(results=2), tmp_path, AT)
    keep(report_of(success=False, results=2), tmp_path, AT + timedelta(hours=1))
    listed = json.loads(call(app, ["quality", str(file), "--history", "--json"]).stdout)
    assert listed == [vars(one) for one in history(tmp_path)]
    picture = tmp_path / "h.png"
    shown = call(app, ["quality", str(file), "--history", "--picture", str(picture)])
    assert shown.exit_code == 0, shown.output
    assert "1 of 2" in shown.stdout
    assert "2026-11-22T01:00:00+00:00 FAIL" in shown.stdout
    assert "expect_it_0 (max_share 0.1)" in shown.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "4 results of 2 checks" in shown.stderr
    for wrong in (["--picture", str(picture)], ["--history", "--input", str(file)]):
        assert call(app, ["quality", str(file), *wrong]).exit_code == 2
    assert command.__doc__
