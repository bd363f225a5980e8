import json
import os
import re
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from chaos.history import History
from chaos.plan import Plan, parse_plan
from chaos.reports.report import fault_rows, write_report
from chaos.reports.timeline import lag, progress_days, throughput, timeline
from chaos.run.commit_watcher import CommitWatcher, JobFailed
from chaos.run.runner import RunReport
from chaos.verdict.check import Check, Outcome
from jobs.checkpoints.checkpoint import Base, write_base

PLAN = """\
name: small
pipeline: p.yml
workload: {flights: 1000, max_offsets: 10}
faults: [kill_driver, kill_broker]
recovery: {within: 1 minute}
"""


@pytest.fixture
def plan() -> Plan:
    return parse_plan(PLAN)


def a_history() -> History:
    found = History()
    found.note(0.0, "sent", total=100)
    found.note(1.0, "commit", batch=0, offsets=20)
    found.note(3.0, "commit", batch=1, offsets=60)
    found.note(4.0, "fault", fault=0, name="kill_driver", evidence="pid 7 is gone", batches=2)
    found.note(4.1, "healed", fault=0, name="kill_driver", evidence="left to the cluster")
    found.note(9.0, "commit", batch=2, offsets=100)
    found.note(9.0, "recovered", fault=0, name="kill_driver", batch=2, seconds=5.0, batches=1)
    found.note(9.5, "no_effect", fault=1, name="kill_broker", why="<no broker>")
    for batch, lane, us in ((0, "t/0", 0), (0, "t/1", 86_400_000_000), (1, "t/0", 86_400_000_000)):
        at_s = (1.0, 3.0)[batch]
        found.note(at_s, "progress", batch=batch, lane=lane, progress_us=us, first=0, last=1)
    found.note(10.0, "end", state="done")
    return found


def test_the_curves_are_those_of_the_history() -> None:
    history = a_history()
    assert throughput(history) == [(3.0, 20.0), (9.0, pytest.approx(40 / 6))]
    assert lag(history) == [(0.0, 100.0), (1.0, 80.0), (3.0, 40.0), (9.0, 0.0)]
    assert progress_days(history) == [(1.0, 0.0), (3.0, 1.0)]


def test_a_lane_that_has_ended_does_not_stretch_the_scale() -> None:
    history = a_history()
    history.note(9.0, "progress", batch=2, lane="t/0", progress_us=2**63 - 1, first=2, last=3)
    assert progress_days(history)[-1] == (3.0, 1.0)


def test_an_empty_history_can_be_drawn() -> None:
    drawn = timeline(History())
    assert (drawn.spans, [curve.points for curve in drawn.curves]) == ((), ["", "", ""])


def test_faults_are_drawn_from_injection_to_recovery() -> None:
    spans = timeline(a_history()).spans
    assert [(s.name, s.effective, s.recovered) for s in spans] == [
        ("kill_driver", True, True),
        ("kill_broker", False, False),
    ]
    assert spans[0].x == pytest.approx(0.4 * 960)
    assert spans[0].width == pytest.approx(0.5 * 960)


def test_the_report_is_three_files_without_a_network(plan: Plan, tmp_path: Path) -> None:
    judged = (
        Check("took effect", Outcome.unknown, "1 of 2 faults took effect", ("kill_broker: why",)),
        Check("deterministic", Outcome.failed, "lost 1", ("smallest differing window: <q>",)),
        Check("exactly_once", Outcome.passed, "read 3"),
    )
    report = RunReport(
        plan, 7, "slackwater chaos run p --seed 7", "abc", "now", a_history(), judged
    )
    assert report.outcome is Outcome.failed
    page = write_report(report, tmp_path).read_text()
    assert "smallest differing window: &lt;q&gt;" in page
    assert "no effect: &lt;no broker&gt;" in page
    assert "slackwater chaos run p --seed 7" in page
    assert page.count("<polyline") == 3
    assert not re.findall(r"(?:src|href)=|https?://|@import|<script", page)
    data = json.loads((tmp_path / "report.json").read_text())
    assert data["outcome"] == "failed"
    assert data["faults"] == fault_rows(report)
    assert data["faults"][0]["recovered_s"] == 5.0
    suite = ET.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 - our own file
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["3", "1", "1"]
    assert [case[0].tag for case in suite] == ["error", "failure", "system-out"]


def batch(checkpoint: Path, number: int, offsets: int, at_s: float) -> None:
    for folder, text in (
        ("offsets", f'v1\n{{}}\n{{"t":{{"0":{offsets},"1":1}}}}'),
        ("commits", ""),
    ):
        path = checkpoint / folder / str(number)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.utime(path, (at_s, at_s))


def test_batches_are_seen_when_they_come_and_again_when_they_are_run_again(tmp_path: Path) -> None:
    watcher = CommitWatcher(tmp_path, History(), began_s=1000.0, job_error=lambda: None)
    watcher.look()
    assert watcher.batches == 0
    batch(tmp_path, 0, 10, 1001.0)
    batch(tmp_path, 1, 20, 1002.0)
    (tmp_path / "commits" / ".1.crc").touch()
    watcher.look()
    watcher.look()
    assert (watcher.batches, watcher.offsets) == (2, 21)
    batch(tmp_path, 1, 20, 1005.0)
    watcher.look()
    seen = [(entry["batch"], entry.at_s) for entry in watcher.history.of("commit")]
    assert seen == [(0, 1.0), (1, 2.0), (1, 5.0)]


def test_batches_go_on_where_another_checkpoint_takes_the_place_of_the_first(
    tmp_path: Path,
) -> None:
    """Spark counts from 0 again, and its state was looked for in a batch of another number."""
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    watcher = CommitWatcher(checkpoint, History(), began_s=1000.0, job_error=lambda: None)
    batch(checkpoint, 0, 10, 1001.0)
    batch(checkpoint, 1, 20, 1002.0)
    watcher.look()
    checkpoint.rename(tmp_path / "checkpoint.before-2")
    checkpoint.mkdir()
    write_base(checkpoint, Base(2, {"t/0": 20, "t/1": 1}))
    watcher.look()
    assert (watcher.batches, watcher.offsets) == (2, 21)
    batch(checkpoint, 0, 30, 1005.0)
    watcher.look()
    assert (watcher.batches, watcher.offsets) == (3, 31)
    seen = [(entry["batch"], entry["offsets"]) for entry in watcher.history.of("commit")]
    assert seen == [(0, 11), (1, 21), (2, 31)]
    assert watcher.fresh_batch(3.0) == (2, 5.0)


def test_only_a_batch_that_was_begun_since_shows_a_recovery(tmp_path: Path) -> None:
    watcher = CommitWatcher(tmp_path, History(), began_s=1000.0, job_error=lambda: None)
    batch(tmp_path, 0, 10, 1001.0)
    os.utime(tmp_path / "commits" / "0", (1004.0, 1004.0))  # begun at 1, committed at 4
    watcher.look()
    assert watcher.fresh_batch(2.0) is None
    assert watcher.fresh_batch(0.5) == (0, 4.0)


def test_a_job_that_gives_up_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.run.commit_watcher._ASK_S", 0.0)
    watcher = CommitWatcher(
        tmp_path, History(), began_s=time.time(), job_error=lambda: "its driver is FAILED"
    )
    with pytest.raises(JobFailed, match="its driver is FAILED"):
        watcher.until(lambda: False, 30.0)
    watcher.job_error = lambda: None
    assert not watcher.until(lambda: False, 0.2)
    assert watcher.until(lambda: True, 0.0)
