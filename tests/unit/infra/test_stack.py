import errno
import json
import os
import stat
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from infra import airflow, kafka, process, record, restarts, spark, stack
from infra.daemon import Daemon
from infra.endpoints import Endpoints
from infra.errors import InfraError, NotReady
from infra.layout import Layout
from infra.private import ENVIRONMENT_FILE
from infra.process import ProcessId
from infra.record import Record, RunningDaemon, read
from infra.stack import DaemonStatus
from slackwater.main import app


def test_nothing_runs_is_an_error_that_says_how_to_start(layout: Layout) -> None:
    with pytest.raises(InfraError, match=r"not running .*; start it with `slackwater up`"):
        stack.endpoints(layout=layout)
    assert stack.status(layout=layout) == []
    assert stack.down(layout=layout) == 0


def test_a_dead_broker_is_one_sentence_with_its_log(layout: Layout) -> None:
    record = read(layout)
    record.promise(kafka.PORTS)
    gone = ProcessId(os.getpid(), 0.0)  # our pid, but a start that was never ours
    record.started("kafka", RunningDaemon(gone, "", "the.log"))
    with pytest.raises(InfraError, match=r"kafka is dead; start it again .* log: the\.log"):
        stack.endpoints(layout=layout, only=["kafka"])
    unchecked = stack.endpoints(layout=layout, only=["kafka"], check=False)
    assert unchecked.kafka_bootstrap == "127.0.0.1:9092"
    assert [one.state for one in stack.status(layout=layout)] == ["dead"]
    assert stack.down(layout=layout) == 0  # and we are still here


def test_a_process_that_is_not_on_record_has_no_identity_to_give(layout: Layout) -> None:
    with pytest.raises(InfraError, match="no daemon kafka is running; on record: none"):
        stack.process_of("kafka", layout=layout)


def test_missing_java_is_one_sentence(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(InfraError, match=r"^Java is missing: install 17 or newer"):
        stack.up(only=["kafka"], layout=layout)


def test_no_job_ends_unasked_because_workers_have_other_settings(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`up` for more room restarted the workers, and both jobs of a blue/green change died."""
    started: list[str] = []
    monkeypatch.setattr(stack, "_bring_up", lambda name, *_: started.append(name))
    monkeypatch.setattr(restarts, "living_jobs", lambda _: jobs)
    monkeypatch.setenv("SLACKWATER_PIPELINES_AT_ONCE", "1")
    us, known = process.identify(os.getpid()), read(layout)
    assert us is not None
    known.promise(spark.PORTS)
    worker = spark.component(layout, spark.PORTS).stages[1][0]
    known.started(worker.name, RunningDaemon(us, stack._recipe(worker), "worker.log"))
    jobs: list[str] | None = ["slackwater:tide:r1", "somebody's program"]
    try:
        stack.up(only=["spark"], layout=layout)
        monkeypatch.setenv("SLACKWATER_PIPELINES_AT_ONCE", "3")
        with pytest.raises(InfraError, match=r"tide:r1, somebody.s .*: nothing was .*--y"):
            stack.up(only=["spark"], layout=layout)
        asked: list[object] = []
        stack.up(only=["spark"], layout=layout, may_end=lambda _, names: asked.append(names))
        assert asked == [jobs]
        jobs = None
        with pytest.raises(InfraError, match="jobs, of which the cluster does not answer"):
            stack.up(only=["spark"], layout=layout)
        jobs = []
        stack.up(only=["spark"], layout=layout)
        assert started == ["spark", "spark", "spark"]
    finally:
        read(layout).ended([worker.name])  # it is this process


def test_the_size_that_was_named_last_stays(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACKWATER_PIPELINES_AT_ONCE", "7")
    sized = spark.component(layout, spark.PORTS)
    sized.prepare()
    monkeypatch.delenv("SLACKWATER_PIPELINES_AT_ONCE")
    again = spark.component(layout, spark.PORTS)
    assert [one.command for one in again.daemons] == [one.command for one in sized.daemons]
    assert "21" in again.daemons[-1].command


def test_a_cluster_of_which_nothing_runs_gets_a_new_secret(layout: Layout) -> None:
    """It stayed the same for good; while something runs, its daemons and jobs know only this."""
    component = spark.component(layout, spark.PORTS)
    component.prepare()
    before = (layout.spark / "secret").read_text()
    component.prepare()
    after = (layout.spark / "secret").read_text()
    assert after != before
    us = process.identify(os.getpid())
    assert us is not None
    record = read(layout)
    for daemon in ("spark-master", "spark-worker-2"):
        record.started(daemon, RunningDaemon(us, "", "spark.log"))
        component.prepare()
        assert (layout.spark / "secret").read_text() == after
        record.ended([daemon])


@pytest.mark.parametrize("host", ["spark-worker-1", "yarn-nodemanager"])
def test_jobs_that_end_with_the_stack_leave_no_secret(layout: Layout, host: str) -> None:
    secrets = [layout.state_dir / "runs/p/r1" / one for one in ("kafka/password", ENVIRONMENT_FILE)]
    for file in secrets:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    record = read(layout)
    record.started("kafka", RunningDaemon(ProcessId(os.getpid(), 0.0), "", "the.log"))
    stack.down(layout=layout)  # no job can have been here
    assert all(file.exists() for file in secrets)
    record = read(layout)
    record.started(host, RunningDaemon(ProcessId(os.getpid(), 0.0), "", "the.log"))
    stack.down(layout=layout)
    assert not any(file.exists() for file in secrets)


def test_a_cluster_that_starts_anew_finds_no_secret_of_jobs_before_it(layout: Layout) -> None:
    """The machine went down: nobody has stopped the stack."""
    component = spark.component(layout, spark.PORTS)
    component.prepare()
    left = layout.state_dir / "runs/p/r1/kafka/password"
    left.parent.mkdir(parents=True)
    left.touch()
    us, record = process.identify(os.getpid()), read(layout)
    assert us is not None
    record.started("yarn-nodemanager", RunningDaemon(us, "", "yarn.log"))
    component.prepare()
    assert left.exists(), "it may be of a job on YARN"
    record.ended(["yarn-nodemanager"])
    component.prepare()
    assert not left.parent.exists()


def test_no_folder_with_values_of_records_is_for_others(layout: Layout) -> None:
    """Reports and verdicts were written as the umask of whoever ran the command had it."""
    layout.make_private()
    names = {"airflow", "audits", "chaos", "kafka", "logs", "page", "quality", "runs", "tables"}
    assert {one.name for one in layout.state_dir.iterdir()} >= names
    for folder in layout.state_dir.iterdir():
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder


def test_the_password_is_private_stays_and_is_not_shown(layout: Layout) -> None:
    first = airflow.environment(layout, {"airflow": 1})
    assert airflow.environment(layout, {"airflow": 1}) == first
    password = airflow.password(layout)
    for path in layout.airflow.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    shown = Endpoints("", "", "", "", "", airflow.USER, password, layout.state_dir, "")
    assert password not in repr(shown)
    assert password not in str(first)


def test_a_part_that_is_dead_is_shown_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACKWATER_STATE_DIR", str(tmp_path))
    found = [
        DaemonStatus("kafka", "healthy", "", 4711, 300 * 2**20, 600.0, tmp_path / "kafka.log"),
        DaemonStatus("spark-master", "dead", "it ended", None, 0, 0.0, tmp_path / "master.log"),
    ]
    monkeypatch.setattr(stack, "status", lambda: found)
    shown = CliRunner().invoke(app, ["status"], env={"COLUMNS": "200"})
    assert shown.exit_code == 1
    for text in ("kafka", "4711", "300 MiB", "10 min", "spark-master: it ended", "Airflow -"):
        assert text in shown.output


@pytest.mark.parametrize(("age_s", "state"), [(1.0, "starting"), (10_000.0, "unwell")])
def test_a_part_that_still_starts_is_not_unwell(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, age_s: float, state: str
) -> None:
    def not_yet(_: float) -> None:
        raise NotReady("no sign of life yet")

    monkeypatch.setattr(stack, "is_alive", lambda _: True)
    process_id = ProcessId(os.getpid(), 0.0)
    monkeypatch.setattr(stack, "_began", lambda _: time.time() - age_s)
    daemon = Daemon("airflow-scheduler", (), not_yet)
    found = stack._look(daemon, RunningDaemon(process_id, "", "x.log"), layout)
    assert (found.state, found.detail) == (state, "no sign of life yet")


def test_where_nothing_was_started_nothing_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACKWATER_STATE_DIR", str(tmp_path))
    shown = CliRunner().invoke(app, ["status"])
    assert shown.exit_code == 0, shown.output


def test_what_was_started_is_found_again_by_another_process(layout: Layout) -> None:
    first = record.read(layout)
    first.promise({"kafka": 9092})
    first.started("kafka", RunningDaemon(ProcessId(4711, 12345.5), "abc", "kafka.log"))
    assert record.read(layout) == first
    first.ended(["kafka"])
    assert record.read(layout).running == {}
    assert record.read(layout).ports == {"kafka": 9092}  # for the next start


def test_nothing_was_ever_started(layout: Layout) -> None:
    assert record.read(layout) == Record(layout.stack_file)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"ports": {}}', '{"ports": {}, "running": {"a": 1}}']
)
def test_a_damaged_record_is_an_error_that_says_what_to_do(layout: Layout, text: str) -> None:
    layout.state_dir.mkdir()
    layout.stack_file.write_text(text)
    with pytest.raises(InfraError, match=r"stack.json is damaged .* delete it and run"):
        record.read(layout)
    layout.stack_file.unlink()


def test_a_full_disk_is_one_sentence_and_the_record_stays_whole(layout: Layout) -> None:
    held = record.read(layout)
    held.promise({"kafka": 9092})
    (layout.state_dir / "stack.json.part").symlink_to("/dev/full")  # every write: no space left
    with pytest.raises(InfraError, match=r"stack.json: no space left on device; free some space"):
        held.promise({"kafka": 9999})
    assert json.loads(layout.stack_file.read_text())["ports"] == {"kafka": 9092}


def test_a_read_only_folder_names_the_way_out(layout: Layout) -> None:
    text = record.cannot_write(layout.stack_file, OSError(errno.EROFS, "Read-only file system"))
    assert text.endswith("read-only file system; SLACKWATER_STATE_DIR can name a folder elsewhere")


def test_a_second_start_waits_and_then_gives_up(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "LOCK_WAIT_S", 0.3)
    with (
        record.only_one(layout),
        pytest.raises(InfraError, match="still at work"),
        record.only_one(layout),
    ):
        pass
    with record.only_one(layout):
        pass
