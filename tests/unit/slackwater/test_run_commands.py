"""Commands over runs: which run they mean without `--run`, and by which file they judge it.

The cluster is pretended (`tests/unit/life/pretended.py`), the tables are real.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from chaos.readers.log import read_events
from chaos.verdict.verify import verify as verify_output
from infra import elsewhere
from infra.layout import STATE_DIR_VARIABLE
from jobs import runs
from jobs.runs.attempts import Attempt
from jobs.runs.folder import read_run
from slackwater.judged import JudgedOutput
from slackwater.main import app
from tests.unit.life.machine import BAD, FILE, GOOD
from tests.unit.life.pretended import PretendedCluster
from windowing.engine.reading.batches import batches, checked
from windowing.model import load_pipeline, zones
from windowing.model.lengths import instant_us
from windowing.model.source import Source
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import tagged
from windowing.spark.sinks.table import TableSink


@dataclass
class Desk:
    """A user's: a pipeline file, a log, a cluster.

    Attributes:
        cluster: that is pretended.
        file: the user's.
        events: the log.
    """

    cluster: PretendedCluster
    file: Path
    events: Path

    def call(self, *arguments: object, code: int = 0) -> str:
        """What a command prints; the exit code must be this one."""
        done = CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "100"})
        shown = done.output if done.exception is None else f"{done.output}{done.exception}"
        expected = getattr(done.exception, "exit_code", done.exit_code)
        assert expected == code, shown
        return shown

    def runs(self) -> list[dict[str, Any]]:
        lines = self.call("runs", self.file, "--json").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def submit(self, run: str) -> runs.Run:
        """Submitted as a program does; the policy of the command is tested elsewhere."""
        found = runs.submit(self.cluster.endpoints, load_pipeline(self.file), self.file, run)
        self.cluster.settle()
        return found

    def edit(self, old: str, new: str) -> None:
        self.file.write_text(self.file.read_text().replace(old, new))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    file, events = tmp_path / "tide.yml", tmp_path / "events.jsonl"
    file.write_text(FILE.format(name="tide", topic=GOOD))
    lines = [
        {"source": GOOD, "partition": 0, "offset": at, "value": {"ts": at * 10**6, "v": at}}
        for at in range(100)
    ]
    events.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with PretendedCluster(tmp_path / "state", BAD) as cluster:
        place = cluster.endpoints.spark_rest
        for name, value in (
            (elsewhere.KAFKA, "127.0.0.1:1"),
            (elsewhere.SPARK, "spark://one:7077"),
            (elsewhere.SPARK_REST, place),
            (elsewhere.SPARK_UI, place),
            (STATE_DIR_VARIABLE, str(tmp_path / "state")),
        ):
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("jobs.brokers.broker.BOOTSTRAP_S", 0.1)
        yield Desk(cluster, file, events)


def write_tables(run: runs.Run, events: Path, *, committed: bool = True) -> None:
    """What the job of a run writes of a log."""
    from chaos.readers.log import read_events

    pipeline = run.own_pipeline()
    engine, sink = LocalEngine(pipeline), TableSink(pipeline, run.table, run.run)
    log = checked(read_events(events, pipeline.source), pipeline)
    for number, batch in enumerate(batches(log, 40, pipeline)):
        emissions = engine.feed(batch, wall_us=number)
        sink.take([frame for one in emissions for frame in tagged(one)], number)
        if committed:
            commit(run, number + 1, min(40 * (number + 1), 100))


def commit(run: runs.Run, batches: int, offset: int) -> None:
    """What Spark's checkpoint says once a run has committed some batches of the lane."""
    for name, text in (("offsets", json.dumps({GOOD: {"0": offset}})), ("commits", "v1\n{}")):
        (run.checkpoint / name).mkdir(parents=True, exist_ok=True)
        (run.checkpoint / name / str(batches - 1)).write_text(text)


@pytest.fixture
def topic(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The topic has the records of the file of events."""
    from chaos.readers import log, topic

    def read(_: str, source: Source, __: object, ends: Any = None) -> Iterator[log.LogRecord]:
        return log.up_to(source, log.read_events(desk.events, source), ends)

    monkeypatch.setattr(topic, "read_topics", read)


@pytest.mark.usefixtures("topic")
def test_a_live_run_is_judged_by_what_it_has_committed(desk: Desk) -> None:
    run = desk.submit("r1")
    asked = ("verify", desk.file, "--since", "unverified", "--until", "committed")
    assert "has not committed a batch yet" in desk.call(*asked, code=3)
    # Batches of 40, 40 and 20 records; the third is written, and not committed yet.
    write_tables(run, desk.events, committed=False)
    commit(run, 2, 80)
    output = desk.call(*asked)
    assert f"run r1 is judged up to batch 1: {GOOD}/0 offset 80" in output
    assert "read 80 = applied 80" in output
    (shown,) = desk.runs()
    assert shown["last_verify"]["sentence"] == "lost 0, duplicated 0, differing 0; up to batch 1"
    # The log's end lies beyond what the tables of a stopped or lost job would have.
    desk.events.write_text(
        desk.events.read_text()
        + json.dumps(
            {"source": GOOD, "partition": 0, "offset": 100, "value": {"ts": 10**9, "v": 1}}
        )
        + "\n"
    )
    commit(run, 3, 100)
    output = desk.call(*asked)
    assert "before the range: " in output
    assert "read 100 = applied 100" in output
    (shown,) = desk.runs()
    assert shown["last_verify"]["sentence"].endswith("; since last up to batch 2")
    assert "up to batch 2" in desk.call("verify", desk.file), "its job is alive"
    assert "up to batch" not in desk.call("verify", desk.file, "--until", "end", code=1)


@pytest.mark.usefixtures("topic")
def test_rows_that_are_lost_before_a_commit_are_found_in_a_live_run(desk: Desk) -> None:
    run = desk.submit("r1")
    write_tables(run, desk.events, committed=False)
    commit(run, 2, 80)
    desk.call("verify", desk.file)
    table = DeltaTable(str(run.table / "tens"))
    table.delete("batch_id = 1")
    assert "lost " in desk.call("verify", desk.file, code=1)
    said = desk.call("verify", desk.file, "--since", "unverified", code=1)
    assert "are not those that were verified" in said


def test_every_run_is_listed_with_its_state_and_the_live_one(desk: Desk) -> None:
    assert "has no run yet" in desk.call("runs", desk.file)
    desk.submit("r1")
    desk.submit("r2")
    desk.edit(GOOD, BAD)
    desk.submit("r3")
    third, second, first = desk.runs()
    assert [one["run"] for one in (first, second, third)] == ["r1", "r2", "r3"]
    assert [one["live"] for one in (first, second, third)] == [False, False, True]
    assert (first["state"], first["why"]) == ("superseded", "run r2 has taken its place")
    assert (third["state"], third["why"]) == ("failed", "it is bad")
    assert second["file_differs"] == [f"source.topic: was '{GOOD}', now '{BAD}'"]
    assert third["file_differs"] is None
    assert third["behind"] is None
    assert third.keys() == {
        *("pipeline", "run", "state", "why", "live", "restarts", "submitted_at", "file"),
        *("file_differs", "batches", "behind", "table", "last_verify", "last_quality"),
        *("metrics", "ui", "log"),
    }
    shown = desk.call("runs")
    for text in ("r3 (live)", "failed", "tide r3: it is bad", "superseded", "source.topic: was"):
        assert text in shown


def test_stop_and_start_are_seen(desk: Desk) -> None:
    assert "nothing was running" in desk.call("stop", desk.file)
    desk.call("start", desk.file, code=1)
    run = desk.submit("r1")
    own = run.file.read_text()
    assert desk.runs()[0]["state"] == "running"
    assert "stopped: r1" in desk.call("stop", desk.file)
    assert desk.runs()[0]["state"] == "stopped"
    assert "nothing was running" in desk.call("stop", desk.file)
    desk.edit("count", "max(v)")
    output = desk.call("start", desk.file)
    assert "aggregates.n: was 'count', now 'max(v)'" in output
    assert run.file.read_text() == own
    desk.cluster.settle()
    assert desk.runs()[0]["state"] == "running"
    assert (
        "count"
        in runs.find(desk.cluster.endpoints, load_pipeline(desk.file), "r1").file.read_text()
    )


def test_start_refuses_beside_a_living_job(desk: Desk) -> None:
    desk.submit("r1")
    desk.submit("r2")
    output = desk.call("start", desk.file, "--run", "r1", code=1)
    assert "run r2 of pipeline tide has a job that lives" in output
    assert "--run r2" in output


def test_a_broken_file_is_enough_to_find_its_runs(desk: Desk) -> None:
    desk.submit("r1")
    desk.edit("partitions: 1", "partitions: many")
    assert "breaks a rule now" in " ".join(desk.runs()[0]["file_differs"])
    assert "stopped: r1" in desk.call("stop", desk.file)
    desk.edit("name: tide", "name: ../tide")
    desk.call("stop", desk.file, code=2)


def test_progress_says_why(desk: Desk) -> None:
    desk.edit(GOOD, BAD)
    desk.submit("r1")
    target = json.dumps({"0": 100})
    output = desk.call("progress", desk.file, "--until", target, code=1)
    assert desk.call("progress", desk.file, "--until", target, "--follow", code=1) == output
    assert "r1: FAILED, 0 batches, 100 offsets behind" in output
    assert "it is bad" in output
    line = desk.call("progress", desk.file, "--until", target, "--json").splitlines()[-1]
    found = json.loads(line)
    assert (found["state"], found["error"], found["why"]) == ("FAILED", "it is bad", "it is bad")


def test_a_job_that_dies_again_and_again_never_runs(desk: Desk) -> None:
    """L1: the master calls it RUNNING all the while, and starts it again without end."""
    desk.submit("r1")
    desk.cluster.kill_a_driver()
    folder = runs.find(desk.cluster.endpoints, load_pipeline(desk.file), "r1").folder
    from jobs.runs.life import Deaths

    for number in (1, 2, 3):
        attempt = Attempt(folder)
        attempt.begin()
        final = attempt.died(Deaths(error=1, last="SchemaMismatchError: 4 vs 3"))
        (found,) = desk.runs()
        assert found["state"] == ("failed" if number == 3 else "restarting")
        assert "SchemaMismatchError: 4 vs 3" in found["why"]
        assert (final is not None) == (number == 3)
    # Attached to it would be a lie: the next submission ends it first.
    desk.submit("r1")
    assert [one.state for one in desk.cluster.drivers] == ["KILLED", "RUNNING"]
    assert desk.runs()[0]["state"] == "running"


def test_verify_judges_the_live_run_by_its_own_copy_of_the_file(desk: Desk) -> None:
    """L8: after an edit, today's file was taken for yesterday's run."""
    desk.call("verify", desk.file, "--input", desk.events, code=1)
    write_tables(desk.submit("r1"), desk.events)
    run = desk.submit("r2")
    write_tables(run, desk.events)
    desk.edit("RANGE 10 seconds SLIDE 10 seconds", "RANGE 20 seconds SLIDE 20 seconds")
    for which in ((), ("--run", "r1"), ("--table", run.table)):
        output = desk.call("verify", desk.file, "--input", desk.events, *which)
        assert "lost 0, duplicated 0, differing 0" in output
        assert "differs now" in output
    # Nobody's run: by the file as it stands.
    desk.call("verify", desk.file, "--input", desk.events, "--table", run.table.parent, code=2)
    desk.call("verify", desk.file, "--table", run.table, code=2)


def test_the_last_verdicts_are_shown(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    run = desk.submit("r1")
    write_tables(run, desk.events)
    desk.call("verify", desk.file, "--input", desk.events)
    assert desk.runs()[0]["last_verify"] is None, "of a file that is not the run's topic"
    from chaos.readers import log, topic

    monkeypatch.setattr(
        topic, "read_topics", lambda _, source, *__: log.read_events(desk.events, source)
    )
    desk.call("verify", desk.file)
    kept = desk.runs()[0]["last_verify"]
    assert kept["passed"] is True
    assert kept["sentence"] == "lost 0, duplicated 0, differing 0; up to batch 2"
    assert kept["at"].endswith("+00:00")
    desk.events.write_text(desk.events.read_text().replace('"v": 7}', '"v": "x"}'))
    desk.call("verify", desk.file, code=1)
    assert desk.runs()[0]["last_verify"]["passed"] is False
    assert "FAILED" in desk.call("runs", desk.file)


def test_verify_goes_on_from_the_last_verification(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chaos.readers import log, topic

    monkeypatch.setattr(
        topic, "read_topics", lambda _, source, *__: log.read_events(desk.events, source)
    )
    run = desk.submit("r1")
    write_tables(run, desk.events)
    said = desk.call("verify", desk.file, "--since", "last", code=2)
    assert "no verification of this run has passed yet" in said
    desk.call("verify", desk.file)
    output = desk.call("verify", desk.file, "--since", "last")
    assert "rows: 0 found, 0 expected" in output
    output = desk.call("verify", desk.file, "--since", '{"0": 50}')
    assert "before the range: " in output
    desk.call("verify", desk.file, "--since", "yesterday", code=2)
    desk.call("verify", desk.file, "--since", '{"7": 50}', code=2)
    desk.events.write_text(desk.events.read_text().replace('"v": 99}', '"v": 98}'))
    said = desk.call("verify", desk.file, "--since", "last", code=2)
    assert "no longer has the record at offset 99" in said


_BERLIN: Final = (b"CET-1CEST,M3.5.0,M10.5.0/3", b"CET-1")
"""What makes a table of Berlin one in which clocks stay as they are, from 1996 on."""
_TOKYO: Final = (b"JST-9", b"JST-10")


@contextmanager
def older_tables() -> Iterator[None]:
    """What is submitted inside of the block is begun by other tables of two zones."""
    installed, other = zones.installed_zone, {"Europe/Berlin": _BERLIN, "Asia/Tokyo": _TOKYO}

    def found(name: str) -> zones.Zone:
        zone = installed(name)
        return zones.Zone(name, zone.table.replace(*other[name]) if name in other else zone.table)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zones, "installed_zone", found)
        yield


def local_times(desk: Desk) -> None:
    """Times are local ones of Berlin, and an expression asks for hours in Tokyo."""
    desk.edit("unit: us", 'unit: {text: "%Y-%m-%d %H:%M:%S", zone: Europe/Berlin}')
    desk.edit("{v: int}", "{v: int, t: timestamp}")
    desk.edit("n: count", "n: count, h: \"max(extract(hour FROM t, 'Asia/Tokyo'))\"")
    days = "{window: RANGE 1 day SLIDE 1 day WATTR ts ZONE Europe/Berlin, aggregates: {n: count}}"
    desk.edit("queries:", f"queries:\n  days: {days}")
    lines = [json.loads(line) for line in desk.events.read_text().splitlines()]
    for at, line in enumerate(lines):
        time = f"2027-07-01 12:{at // 60:02}:{at % 60:02}"
        line["value"] |= {"ts": time, "t": time}
    lines.append({"source": GOOD, "partition": 0, "offset": 100, "control": {"end": True}})
    desk.events.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_a_run_is_computed_and_judged_by_the_tables_that_it_began_with(desk: Desk) -> None:
    from chaos.readers.catalogue import read_output

    local_times(desk)
    with older_tables():
        run = desk.submit("r1")
    write_tables(run, desk.events)
    rows = [json.loads(line) for _, line in read_output(run.own_pipeline(), run.table, "r1").rows]
    noon = instant_us("2027-07-01T11:00:00Z")  # which is 10:00 in UTC by the installed table
    tens, days = ([row for row in rows if row["query"] == name] for name in ("tens", "days"))
    assert min(row["window_start"] for row in tens) == noon
    assert {row["values"]["h"] for row in tens} == {21}
    assert [row["window_start"] for row in days] == [instant_us("2027-06-30T23:00:00Z")]
    said = desk.call("verify", desk.file, "--input", desk.events, "--until", "end")
    assert "lost 0, duplicated 0, differing 0" in said
    assert "differs now" not in said, "the file is the run's, whatever is installed"
    # By the installed tables, they would be the rows of other windows.
    today = JudgedOutput(load_pipeline(desk.file), "r1", run)
    found = read_output(today.pipeline, run.table, "r1")
    log = list(read_events(desk.events, today.pipeline.source))
    assert not verify_output(today.pipeline, log, found).ok


def test_a_run_keeps_its_tables_and_a_new_run_takes_those_installed(desk: Desk) -> None:
    local_times(desk)
    with older_tables():
        first = desk.submit("r1")
    began = first.own_pipeline().zone_tables
    desk.call("stop", desk.file)
    desk.call("submit", desk.file, "--run", "r1")
    assert read_run(first.folder).own_pipeline().zone_tables == began
    second = desk.submit("r2").own_pipeline()
    assert second.zone_tables == dict(load_pipeline(desk.file).zones) != began


def test_validate_names_the_zones_that_the_live_run_knows_otherwise(desk: Desk) -> None:
    local_times(desk)
    assert "note:" not in desk.call("validate", desk.file)
    with older_tables():
        desk.submit("r1")
    said = " ".join(desk.call("validate", desk.file).split())
    for one in (
        "zone Asia/Tokyo: run r1 goes by the table that it began with, and the installed one "
        "differs from 1951-09-08T15:00:00Z on: +10:00 in the run, +09:00 installed",
        "zone Europe/Berlin: run r1 goes by the table that it began with, and the installed one "
        "differs from 1996-03-31T01:00:00Z on: +01:00 in the run, +02:00 installed",
    ):
        assert one in said
    desk.submit("r2")
    assert "note:" not in desk.call("validate", desk.file)
