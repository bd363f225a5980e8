"""How a driver ends: with a reason that stays, in the right words, or without its executors."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from infra.errors import InfraError
from infra.kafka_settings import KafkaSettings
from infra.kafka_spelling import for_java, hand_over
from infra.private import SECRETS_FOLDER
from jobs import pipeline as program
from jobs.brokers.broker import BrokerError, BrokerRefusal
from jobs.brokers.topics import TopicError
from jobs.driver.orphan import LOST_S, ExecutorsLost, Orphan
from jobs.runs.attempts import Attempt, read_attempts
from jobs.runs.folder import FAILURE_FILE, NOTE_FILE
from jobs.runs.job_order import JobOrder, forget_own, write_environment
from jobs.runs.life import DEATHS_MAX
from jobs.runs.owner import REFUSED_FILE
from tests.unit.jobs.driver.test_failures import IN_FOREACH_BATCH
from tests.unit.life.machine import FILE, GOOD
from windowing.model import PipelineError
from windowing.model.run_errors import CheckpointMismatch, SecondDriver, TokenMismatch
from windowing.model.user.user_aggregate import UserAggregateError


class Driver:
    """A driver whose run ends in an error of the test's."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._patch = root / "runs" / "tide" / "r1", monkeypatch
        self.folder.mkdir(parents=True)
        self._file = root / "tide.yml"
        self._file.write_text(FILE.format(name="tide", topic=GOOD))

    def dies_of(self, error: Exception | None, *more: str) -> int:
        """Its exit code; where it is to be started again, it raises."""

        def run(order: JobOrder, attempt: Attempt) -> None:
            attempt.begin()
            if error is not None:
                raise error
            attempt.ended()

        self._patch.setattr(program, "run", run)
        places = ("--checkpoint", str(self.folder / "checkpoint"), "--table", str(self.folder))
        broker = ("--run", "r1", "--bootstrap", "one:9092")
        return program.main([str(self._file), *broker, *places, *more])

    @property
    def reason(self) -> str | None:
        file = self.folder / FAILURE_FILE
        return json.loads(file.read_text())["error"] if file.exists() else None


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    return Driver(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "error",
    [
        CheckpointMismatch("another file"),
        TokenMismatch("another topic"),
        UserAggregateError("no such class"),
        TopicError("no such topic"),
        PipelineError([]),
        AnalysisException("no such source"),
        ModuleNotFoundError("no such module"),
        InfraError("no such file of settings"),
        BrokerRefusal("no such user"),
    ],
)
def test_what_a_restart_meets_again_is_final_at_once(driver: Driver, error: Exception) -> None:
    assert driver.dies_of(error) == 0
    assert driver.reason == str(error)
    noted = read_attempts(driver.folder)
    assert (noted.living, noted.deaths.number) == (None, 0), "whoever comes next misses nobody"


def test_tables_of_another_schema_are_final_at_once(driver: Driver) -> None:
    """L1: it was started again without end, and the reason stood in the driver's output only."""
    assert driver.dies_of(StreamingQueryException(IN_FOREACH_BATCH)) == 0
    assert "number of fields: 4 vs 3" in str(driver.reason)


def test_three_deaths_without_a_batch_are_final(driver: Driver) -> None:
    for _ in range(DEATHS_MAX - 1):
        with pytest.raises(ValueError, match="odd"):
            driver.dies_of(ValueError("odd"))
        assert driver.reason is None
    assert driver.dies_of(ValueError("odd")) == 0
    assert "died 3 times without a batch" in str(driver.reason)
    assert "ValueError: odd" in str(driver.reason)


def test_a_broker_that_is_away_is_worth_every_restart(driver: Driver) -> None:
    for _ in range(5 * DEATHS_MAX):
        with pytest.raises(BrokerError):
            driver.dies_of(BrokerError("nothing answers"))
    assert driver.reason is None
    noted = read_attempts(driver.folder)
    assert noted.deaths.outage == 5 * DEATHS_MAX


def test_a_second_driver_steps_back_and_has_not_died(driver: Driver) -> None:
    text = "windowing.model.run_errors.SecondDriver: run r1 belongs to another"
    for error in (SecondDriver("run r1 belongs to another"), StreamingQueryException(text)):
        assert driver.dies_of(error) == 0
        refusal = json.loads((driver.folder / REFUSED_FILE).read_text())["error"]
        assert refusal == "run r1 belongs to another"
        assert driver.reason is None


# --- the run's secrets ---------------------------------------------------------------------------


def given_secrets(driver: Driver) -> list[Path]:
    """A run's folder as it is when its driver starts: with a login, and with variables."""
    (driver.folder / NOTE_FILE).write_text("{}")
    login = KafkaSettings(
        bootstrap="one:9092", sasl={"mechanism": "PLAIN", "username": "u", "password": "hunter2"}
    )
    hand_over(login, driver.folder / SECRETS_FOLDER)
    variables = write_environment(driver.folder, {"OPENLINEAGE_URL": "http://127.0.0.1:1"})
    assert variables is not None
    return [driver.folder / SECRETS_FOLDER / "password", variables]


@pytest.mark.parametrize(
    ("error", "more"),
    [
        (None, ()),
        (None, ("--available-now",)),
        (InfraError("no such file of settings"), ()),
        (ValueError("odd"), ("--available-now",)),
    ],
)
def test_who_is_not_started_again_leaves_no_secret(
    driver: Driver, error: Exception | None, more: tuple[str, ...]
) -> None:
    """The password stayed in the folder of a job that had ended by itself."""
    secrets = given_secrets(driver)
    if isinstance(error, ValueError):
        with pytest.raises(ValueError, match="odd"):
            driver.dies_of(error, *more)
    else:
        assert driver.dies_of(error, *more) == 0
    assert not [file for file in secrets if file.exists()]
    assert not [file for file in driver.folder.rglob("*") if "hunter2" in _text(file)]


def test_who_is_started_again_finds_its_secrets(driver: Driver) -> None:
    secrets = given_secrets(driver)
    for number in range(1, DEATHS_MAX + 1):
        if number < DEATHS_MAX:
            with pytest.raises(ValueError, match="odd"):
                driver.dies_of(ValueError("odd"))
        else:
            assert driver.dies_of(ValueError("odd")) == 0
        assert [file.exists() for file in secrets] == [number < DEATHS_MAX] * 2


def test_the_secrets_of_a_run_are_its_owner_s(driver: Driver) -> None:
    secrets = given_secrets(driver)
    assert driver.dies_of(SecondDriver("run r1 belongs to another"), "--available-now") == 0
    assert all(file.exists() for file in secrets)
    Attempt(driver.folder).begin()
    forget_own(driver.folder)  # of a driver that has lost the run meanwhile
    assert all(file.exists() for file in secrets)


def test_a_job_started_by_hand_leaves_what_is_not_ours(driver: Driver) -> None:
    """Its folder of notes is wherever its user says; there may be a folder with the same name."""
    theirs = driver.folder / SECRETS_FOLDER / "server.properties"
    theirs.parent.mkdir()
    theirs.touch()
    assert driver.dies_of(None, "--available-now") == 0
    assert theirs.exists()
    theirs.unlink()
    theirs.parent.rmdir()
    login = {"mechanism": "PLAIN", "username": "u", "password": "hunter2"}
    for_java(KafkaSettings(bootstrap="one:9092", sasl=login), driver.folder / SECRETS_FOLDER)
    assert driver.dies_of(None, "--available-now") == 0
    assert not theirs.parent.exists()


def test_variables_come_from_the_private_file(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "")
    file = str(given_secrets(driver)[1])
    assert driver.dies_of(None, "--environment", file) == 0
    assert os.environ["OPENLINEAGE_URL"] == "http://127.0.0.1:1"
    assert driver.dies_of(None, "--environment", file) == 0  # gone now; the job runs all the same


def _text(file: Path) -> str:
    return file.read_text(errors="replace") if file.is_file() else ""


class Cluster:
    """So many executors at a time of day."""

    def __init__(self) -> None:
        self.executors, self.now_s = 0, 1000.0

    def after(self, seconds: float, executors: int) -> None:
        self.now_s += seconds
        self.executors = executors


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def orphan(cluster: Cluster) -> Orphan:
    return Orphan(lambda: cluster.executors, lambda: cluster.now_s)


def test_a_driver_that_never_had_an_executor_waits_for_ever(
    cluster: Cluster, orphan: Orphan
) -> None:
    for _ in range(3):
        cluster.after(10 * LOST_S, 0)
        orphan.look()


def test_executors_that_are_replaced_in_time_are_not_missed(
    cluster: Cluster, orphan: Orphan
) -> None:
    for number in (2, 0, 1, 0, 2):
        cluster.after(LOST_S, number)
        orphan.look()


def test_a_driver_without_executors_for_too_long_ends(cluster: Cluster, orphan: Orphan) -> None:
    cluster.after(1, 2)
    orphan.look()
    cluster.after(LOST_S, 0)
    orphan.look()
    cluster.after(1, 0)
    with pytest.raises(ExecutorsLost, match="no executor for 60 s: the master has forgotten"):
        orphan.look()
