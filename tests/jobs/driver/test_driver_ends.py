"""How a driver ends: with a reason that stays, or so that the cluster starts it again. No JVM."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from infra.errors import InfraError
from jobs import pipeline as program
from jobs.brokers.broker import BrokerError, Refused
from jobs.brokers.topics import TopicError
from jobs.runs.attempts import Attempt, read_attempts
from jobs.runs.folder import FAILURE_FILE
from jobs.runs.life import DEATHS_MAX
from jobs.runs.owner import REFUSED_FILE
from tests.jobs.driver.test_failures import IN_FOREACH_BATCH
from tests.life.machine import FILE, GOOD
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

    def dies_of(self, error: Exception) -> int:
        """Its exit code; where it is to be started again, it raises."""

        def run(args: argparse.Namespace, attempt: Attempt) -> None:
            attempt.begin()
            raise error

        self._patch.setattr(program, "run", run)
        places = ("--checkpoint", str(self.folder / "checkpoint"), "--table", str(self.folder))
        broker = ("--run", "r1", "--bootstrap", "one:9092")
        return program.main([str(self._file), *broker, *places])

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
        Refused("no such user"),
    ],
)
def test_what_a_restart_meets_again_is_final_at_once(driver: Driver, error: Exception) -> None:
    assert driver.dies_of(error) == 0
    assert driver.reason == str(error)
    noted = read_attempts(driver.folder)
    assert noted is not None
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
    assert noted is not None
    assert noted.deaths.outage == 5 * DEATHS_MAX


def test_a_second_driver_steps_back_and_has_not_died(driver: Driver) -> None:
    text = "windowing.model.run_errors.SecondDriver: run r1 belongs to another"
    for error in (SecondDriver("run r1 belongs to another"), StreamingQueryException(text)):
        assert driver.dies_of(error) == 0
        told = json.loads((driver.folder / REFUSED_FILE).read_text())["error"]
        assert told == "run r1 belongs to another"
        assert driver.reason is None
