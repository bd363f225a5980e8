import os
import stat

import pytest

from infra import airflow, kafka, process, spark, stack
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.layout import Layout
from infra.process import ProcessId
from infra.record import Running, read
from infra.run_secrets import ENVIRONMENT_FILE


def test_nothing_runs_is_an_error_that_says_how_to_start(layout: Layout) -> None:
    with pytest.raises(InfraError, match=r"not running .*; start it with `slackwater up`"):
        stack.endpoints(layout=layout)
    assert stack.status(layout=layout) == []
    assert stack.down(layout=layout) == 0


def test_a_dead_broker_is_one_sentence_with_its_log(layout: Layout) -> None:
    record = read(layout)
    record.promise(kafka.PORTS)
    gone = ProcessId(os.getpid(), 0.0)  # our pid, but a start that was never ours
    record.started("kafka", Running(gone, "", "the.log"))
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
        record.started(daemon, Running(us, "", "spark.log"))
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
    record.started("kafka", Running(ProcessId(os.getpid(), 0.0), "", "the.log"))
    stack.down(layout=layout)  # no job can have been here
    assert all(file.exists() for file in secrets)
    record = read(layout)
    record.started(host, Running(ProcessId(os.getpid(), 0.0), "", "the.log"))
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
    record.started("yarn-nodemanager", Running(us, "", "yarn.log"))
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
