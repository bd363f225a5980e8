"""Every judgement is made at one cut: while batches commit, between any two writes of a sink.

The cluster is pretended (`tests/unit/life/pretended.py`), the tables are real.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from chaos.quality.expectation import EXPECTATIONS
from jobs import runs
from tests.unit.life.machine import GOOD
from tests.unit.slackwater.test_overview import answer
from tests.unit.slackwater.test_run_commands import Desk, commit, desk, topic, write_tables
from windowing.engine.reading.batches import batches, checked
from windowing.model import load_pipeline
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import tagged
from windowing.spark.sinks.table import TableSink
from windowing.spark.sinks.table_log import TableLog

__all__ = ["desk", "topic"]

# Great Expectations is itself built on what its libraries deprecate.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.usefixtures("topic"),
]

MORE = """
late: {policy: dead_letter}
quality:
  - {expect_records_to_be_conserved: {}}
  - {expect_dead_records_to_be_few: {max_share: 0.5}}
  - {expect_late_records_to_be_few: {max_share: 0.5}}
  - {query: tens, expect_window_set_to_match_definition: {}}
  - {query: tens, expect_event_times_to_be_plausible: {max_share: 1}}
  - {query: tens, expect_windows_to_be_complete: {}}
  - {query: tens, expect_newest_window_to_be_fresh: {max_age: 40 seconds}}
  - {query: tens, expect_revisions_to_rise_without_holes: {}}
  - {query: tens, expect_revisions_to_be_few: {max_share: 0.5}}
  - {query: tens, expect_window_values_to_be_steady: {column: n, previous: 1, max_change: 20}}
  - {query: tens, expect_column_values_to_be_between: {column: n, min_value: 1}}
"""
SIZE = 40


@pytest.fixture
def live(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> runs.Run:
    """A run whose topic has bad and late records among good ones, and more than it has read."""
    desk.edit("sink:", f"{MORE.strip()}\nsink:")
    desk.edit("n: count", "n: count, s: sum(v)")
    lines = desk.events.read_text().splitlines()
    for at in range(0, len(lines), 7):
        value = {"ts": "x"} if at % 2 else {"ts": max(0, at - 30) * 10**6, "v": 1}
        lines[at] = json.dumps({**json.loads(lines[at]), "value": value})
    desk.events.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr("slackwater.quality.stack_for", lambda *_: desk.cluster.endpoints)
    return desk.submit("r1")


def written(run: runs.Run, desk: Desk, judge: Callable[[int], None]) -> None:
    """Write the log batch by batch; judge the run after each write and each commit.

    `judge` is given how many batches are committed.
    """
    from chaos.readers.log import read_events

    pipeline, done = run.own_pipeline(), 0
    run.checkpoint.mkdir()
    engine, sink = LocalEngine(pipeline), TableSink(pipeline, run.table, run.run)
    append = TableLog.append

    def judged(log: TableLog, *arguments: Any) -> bool:
        found = append(log, *arguments)
        judge(done)
        return found

    log = [*checked(read_events(desk.events, pipeline.source), pipeline)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableLog, "append", judged)
        for number, batch in enumerate(batches(log, SIZE, pipeline)):
            frames = [one for sent in engine.feed(batch, wall_us=number) for one in tagged(sent)]
            sink.take(frames, number)
            done = number + 1
            commit(run, done, min(SIZE * done, len(log)))
            judge(done)


def test_every_expectation_is_met_between_any_two_writes(
    desk: Desk, live: runs.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    monkeypatch.setattr("chaos.quality.docs.Site.publish", lambda _: Path("index.html"))

    def judge(done: int) -> None:
        if done < 2:  # one batch says it: each check takes a second
            return
        shown = desk.call("quality", desk.file, "--json")
        said = json.loads(next(line for line in shown.splitlines() if line.startswith("{")))
        assert {one["expectation"] for one in said["results"]} >= {*EXPECTATIONS.keys()}
        at = f"up to batch {done - 1}: {GOOD}/0 offset {min(SIZE * done, 100)}"
        assert f"run r1 is judged {at}" in shown
        seen.append(done)

    written(live, desk, judge)
    # Five tables take their turn: rows, dead letters, metrics, tokens, and then Spark's commit.
    assert seen.count(2) >= 5
    assert seen[-1] == 3


def test_nothing_is_judged_before_the_first_batch(desk: Desk, live: runs.Run) -> None:
    for command in ("quality", "verify"):
        assert "has not committed a batch yet" in desk.call(command, desk.file, code=3)


def test_verify_is_green_between_any_two_writes(desk: Desk, live: runs.Run) -> None:
    def judge(done: int) -> None:
        code = 0 if done else 3
        assert f"up to batch {done - 1}" in desk.call("verify", desk.file, code=code) or not done

    written(live, desk, judge)


def test_an_overview_counts_up_to_one_batch(desk: Desk, live: runs.Run) -> None:
    """With what was counted before, by itself and by the driver, which counts at any time, too."""

    def judge(done: int) -> None:
        found = answer(desk)
        assert found["batches"]["count"] == done
        whole = min(SIZE * done, 100)
        (lane,), (output,) = found["lanes"], found["outputs"]
        assert lane["records"] == whole
        assert lane["offset"] in (whole, None)
        for name, count in (("tens", output["rows"]), ("dead_letters", lane["dead"])):
            rows = DeltaTable(str(live.table / name)).to_pyarrow_table().to_pylist()
            assert count == sum(row["batch_id"] < done for row in rows), name
        assert sum(one["records"] for one in found["history"]) == whole

    written(live, desk, judge)


def test_what_cannot_be_compared_takes_over_once_it_is_verified(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T4: another slack, so that nothing is compared: "0 of 0 windows differ", and it was live."""
    monkeypatch.setattr("slackwater.deploy.stack_for", lambda *_: desk.cluster.endpoints)
    write_tables(desk.submit("r1"), desk.events)
    desk.edit("slack: 5 seconds", "slack: 7 seconds")
    spec = load_pipeline(desk.file)
    beside = runs.Options(beside=True)
    green = runs.submit(desk.cluster.endpoints, spec, desk.file, "r2", beside)
    desk.cluster.settle()
    write_tables(green, desk.events)
    table = DeltaTable(str(green.table / "tens"))
    table.delete("run = 'r2' and batch_id = 1")
    asked = ("handover", desk.file, "--to", "r2")
    shown = desk.call(*asked, code=1)
    assert "not compared as a whole: tens, so run r2 is verified" in shown
    assert "run r1 stays the live one" in shown
    table.restore(table.version() - 1)
    assert "lost 0, duplicated 0, differing 0" in desk.call(*asked, "--dry-run")
    assert [one["live"] for one in desk.runs()] == [False, True]
    assert "run r2 is the live run" in desk.call(*asked)
    assert [one["live"] for one in desk.runs()] == [True, False]


def test_a_run_takes_over_unproved_if_it_is_asked_to(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slackwater.deploy.stack_for", lambda *_: desk.cluster.endpoints)
    write_tables(desk.submit("r1"), desk.events)
    desk.edit("n: count", "n: count, top: max(v)")
    beside = runs.Options(beside=True)
    spec = load_pipeline(desk.file)
    green = runs.submit(desk.cluster.endpoints, spec, desk.file, "r2", beside)
    desk.cluster.settle()
    write_tables(green, desk.events)
    shown = desk.call("handover", desk.file, "--to", "r2", "--unproved")
    assert "run r2 is the live run" in shown
    assert "verified" not in shown
