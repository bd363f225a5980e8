"""`slackwater overview`: figures as the tables have them, in every state of a run.

The cluster is pretended (`tests/unit/life/pretended.py`), the tables are real.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from infra.layout import PIPELINES_VARIABLE
from jobs.overview.collect import overview
from jobs.overview.schema import Overview
from jobs.runs import Run
from jobs.runs.life import Life, State
from jobs.runs.overview import Surroundings
from jobs.runs.verdicts import Judge, keep_verdict
from slackwater.main import app
from tests.bounds import within
from tests.unit.life.machine import BAD, FILE, GOOD
from tests.unit.slackwater.test_run_commands import Desk, desk, write_tables
from windowing.engine.plan import plan_of
from windowing.explain.pipeline import explain
from windowing.model import load_pipeline

__all__ = ["desk"]


def answer(desk: Desk, *arguments: object) -> dict[str, Any]:
    (line,) = [
        line
        for line in desk.call("overview", desk.file, "--json", *arguments).splitlines()
        if line.startswith("{")
    ]
    data: dict[str, Any] = json.loads(line)
    assert Overview.model_validate(data).model_dump(mode="json") == data
    return data


def answers(desk: Desk, *files: object) -> dict[str, dict[str, Any]]:
    shown = desk.call("overview", *files, "--json").splitlines()
    (line,) = [line for line in shown if line.startswith("[")]
    return {one["pipeline"]: one for one in json.loads(line)}


def test_a_pipeline_that_has_never_run_is_grey(desk: Desk) -> None:
    found = answer(desk)
    assert found["light"] == {"colour": "grey", "reasons": ["it has never run"]}
    assert (found["run"], found["state"], found["runs"]) == (None, None, [])
    assert [one["light"]["colour"] for one in found["outputs"]] == ["grey"]
    assert found["plan"] == "\n".join(explain(plan_of(load_pipeline(desk.file))))
    assert "never run" in desk.call("overview", desk.file)


def test_figures_are_those_of_the_tables(desk: Desk) -> None:
    run = desk.submit("r1")
    before = answer(desk)
    assert before["state"]["state"] == "running"
    assert before["outputs"][0]["rows"] is None
    assert "its table cannot be read" in before["light"]["reasons"]
    write_tables(run, desk.events)
    keep_verdict(run, Judge.verify, passed=True, sentence="lost 0, duplicated 0, differing 0")
    keep_verdict(run, Judge.quality, passed=True, sentence="2 of 2 expectations hold")
    found = answer(desk)
    (query,) = load_pipeline(desk.file).flows
    rows = DeltaTable(str(run.table / query.name)).to_pyarrow_table()
    assert found["outputs"][0]["rows"] == len(rows) > 0
    assert found["light"]["colour"] == "green"
    assert "and it was verified" in found["light"]["reasons"][0]
    assert sum(one["rows"] for one in found["history"]) == len(rows)
    assert sum(one["records"] for one in found["history"]) == 100
    (lane,) = found["lanes"]
    assert (lane["records"], lane["progress"]) == (100, "1970-01-01T00:01:34Z")
    assert (lane["holds_back"], lane["end"], lane["behind"]) == (True, None, None)
    assert lane["release"] == found["open_windows"][0]["release"]
    assert {one["kind"] for one in found["verdicts"]} == {"verify", "quality"}
    assert f"no broker tells where topic {GOOD} ends" in " ".join(found["problems"])
    shown = desk.call("overview", desk.file)
    for text in (
        "● green",
        "run r1 running",
        f"{GOOD}/0 holds back",
        "verify passed",
        "releases it",
    ):
        assert text in shown


def test_failures_and_stops_are_seen(desk: Desk) -> None:
    run = desk.submit("r1")
    write_tables(run, desk.events)
    keep_verdict(run, Judge.verify, passed=False, sentence="lost 1, duplicated 0, differing 0")
    assert answer(desk)["light"]["colour"] == "red"
    desk.call("stop", desk.file)
    assert "its job is stopped" in answer(desk)["light"]["reasons"]
    desk.edit(GOOD, BAD)
    desk.submit("r2")
    found = answer(desk)
    assert (found["run"], found["runs"]) == ("r2", ["r2", "r1"])
    assert found["light"]["reasons"][0] == "its job has failed: it is bad"
    assert answer(desk, "--run", "r1")["light"]["reasons"][0].startswith("the last verification")
    assert "has no run 'r9'" in desk.call("overview", desk.file, "--run", "r9", code=1)
    desk.call("overview", "--run", "r1", code=2)


def test_all_of_a_project(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tables(desk.submit("r1"), desk.events)
    folder = tmp_path / "pipelines"
    folder.mkdir()
    (folder / "new.yml").write_text(FILE.format(name="ebb", topic=GOOD))
    (folder / "broken.yml").write_text("name: broken\nsource: <script>\n")
    monkeypatch.setenv(PIPELINES_VARIABLE, str(folder))
    found = answers(desk)
    assert sorted(found) == ["broken", "ebb", "tide"]
    assert found["broken"]["light"]["colour"] == "red"
    assert "broken.yml" in found["broken"]["problems"][0]
    assert (found["tide"]["file"], found["tide"]["run"]) == (None, "r1")
    assert found["ebb"]["light"]["colour"] == "grey"
    assert sorted(answers(desk, desk.file, folder / "new.yml")) == ["ebb", "tide"]
    assert "● red broken" in desk.call("overview")


def test_who_follows_is_answered_line_by_line_like_one_who_calls(desk: Desk) -> None:
    desk.submit("r1")
    asked = [json.dumps([str(desk.file)]), "[7]", json.dumps(["nowhere.yml"]), "", "[]"]
    done = CliRunner().invoke(app, ["overview", "--follow"], input="\n".join(asked) + "\n")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(asked)
    (one,) = answers[0]["overviews"]
    assert one | {"at": None} == answer(desk) | {"at": None}
    assert [sorted(line) for line in answers[1:4]] == [["error"]] * 3
    assert "nowhere.yml" in answers[2]["error"]
    assert "tide" in {one["pipeline"] for one in answers[4]["overviews"]}
    desk.call("overview", "--run", "r1", "--follow", code=2)


def test_no_file_of_the_folder_makes_all_who_follow_wait(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "pipelines"
    folder.mkdir()
    text = FILE.format(name="ebb", topic=GOOD)
    (folder / "ebb.yml").write_text(text)
    (folder / "large.yml").write_text(text.replace("ebb", "flood") + "# " + "x" * 300_000)
    os.mkfifo(folder / "pipe.yml")
    monkeypatch.setenv(PIPELINES_VARIABLE, str(folder))
    with within(60):
        done = CliRunner().invoke(app, ["overview", "--follow"], input="[]\n")
    (line,) = done.stdout.splitlines()
    by_name = {one["pipeline"]: one for one in json.loads(line)["overviews"]}
    assert by_name["ebb"]["problems"] == []
    assert "pipe.yml is not a file" in by_name["pipe"]["problems"][0]
    assert "at most 256 KiB are read, split it" in by_name["large"]["problems"][0]
    # Who asks for themselves gets the answer.
    found = answers(desk, folder / "ebb.yml", folder / "large.yml")
    assert found["flood"]["problems"] == []


def test_a_damaged_copy_of_the_file_is_said(desk: Desk) -> None:
    run = desk.submit("r1")
    run.file.write_text("name: tide\nsource: 1\n")
    found = answer(desk)
    assert (found["light"]["colour"], found["outputs"], found["run"]) == ("red", [], "r1")
    assert str(run.file) in " ".join(found["problems"])


def test_what_is_known_may_be_deleted_and_may_not_be_writable(desk: Desk) -> None:
    run = desk.submit("r1")
    write_tables(run, desk.events)
    first = answer(desk)
    known = run.folder / "overview_cache.json"
    assert known.exists()
    known.unlink()
    second = answer(desk)
    for one in (first, second):
        for name in ("at", "state"):
            one.pop(name)
    assert first == second
    known.unlink()
    known.mkdir()  # nothing can be written there, not even by root
    problems = answer(desk)["problems"]
    assert any("the next overview will read the tables anew" in problem for problem in problems)


def test_all_runs_have_their_states_and_one_that_waits_for_ever_is_not_green(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T11: the light stayed green beside a run that waits for room."""
    run = well(desk)
    assert answer(desk)["light"]["colour"] == "green"
    desk.submit("r2")
    found = answer(desk)
    assert found["run_states"] == {"r2": "running", "r1": "superseded"}
    assert "all runs: r2 (running), r1 (superseded)" in desk.call("overview", desk.file)
    waits = Life(State.waiting, "no worker has room for its driver")
    monkeypatch.setattr("jobs.runs.overview.life_of", lambda *_: waits)
    found = answer(desk, "--run", run.run)
    said = "run r2 is waiting: no worker has room for its driver"
    assert said in found["light"]["reasons"], found["light"]


def test_a_run_without_batches_while_records_wait_is_not_green(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    well(desk)
    about = Surroundings.of(desk.cluster.endpoints)
    for ends, after, colour in (
        ({0: 100}, timedelta(hours=5), "green"),
        ({0: 726}, timedelta(minutes=5), "green"),
        ({0: 726}, timedelta(hours=5), "yellow"),
        (None, timedelta(hours=5), "green"),
    ):
        monkeypatch.setattr("jobs.runs.overview.Ends.of", lambda *_, ends=ends: ends)
        found = overview(about, "tide", desk.file, None, datetime.now(UTC) + after)
        assert found.light.colour == colour, (ends, after, found.light)
        assert found.state is not None
        assert found.state["behind"] == (None if ends is None else ends[0] - 100)


def well(desk: Desk) -> Run:
    """A run that has written all, and passed all."""
    run = desk.submit("r1")
    write_tables(run, desk.events)
    keep_verdict(run, Judge.verify, passed=True, sentence="lost 0, duplicated 0, differing 0")
    keep_verdict(run, Judge.quality, passed=True, sentence="2 of 2 expectations hold")
    return run
