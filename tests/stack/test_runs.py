"""Runs with another owner, and a publication that is killed and continued."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from chaos.faults.fault import FaultContext
from chaos.faults.identity import SecondDriver
from chaos.readers.topic import read_topic
from jobs.brokers.topics import end_offsets
from jobs.checkpoints.conversion import (
    ConversionError,
    reshard_run,
)
from jobs.datasets.flights import PublishResult, publish
from jobs.runs import Run
from jobs.runs.owner import REFUSED_FILE, Owner
from tests.spark.test_flights import topic  # noqa: F401 - a fixture
from tests.unit.chaos.faults.test_identity_faults import context, job  # noqa: F401 - fixtures
from tests.unit.jobs.checkpoints.test_conversion import run  # noqa: F401 - a fixture
from tests.unit.jobs.test_datasets import ROOT, log  # noqa: F401 - a fixture


def test_a_second_driver_ends_and_names_the_first(context: FaultContext, tmp_path: Path) -> None:
    """The real program, which checks the run before it needs a broker or Spark."""
    (tmp_path / "p.yml").write_text(
        "name: p\nsource: {topic: t, partitions: 1, format: json, fields: {v: int},"
        " event_time: {field: ts, unit: us}, disorder: ordered}\n"
        "queries: {q: {window: RANGE 1 s SLIDE 1 s WATTR ts, aggregates: {n: count}}}\n"
    )
    first = Owner(tmp_path)
    first.claim()
    SecondDriver().inject(context)
    first.check()
    first.release()
    (named,) = context.losses
    assert named.said is not None
    assert not named.missing
    assert (tmp_path / REFUSED_FILE).exists()


def test_a_run_with_a_job_is_left_alone(run: Run) -> None:
    """Its owner is given time to show that it lives."""
    other = Owner(run.folder)
    other.claim()
    try:
        with pytest.raises(ConversionError, match="slackwater stop"):
            reshard_run(run, 3)
    finally:
        other.release()


def held(bootstrap: str, topic: str) -> dict[tuple[int, int], tuple[bytes | None, bytes | None]]:
    return {
        (one.partition, one.offset): (one.value, one.control)
        for one in read_topic(bootstrap, topic)
    }


def wanted(log: pl.DataFrame) -> dict[tuple[int, int], tuple[bytes | None, bytes | None]]:
    columns = ("partition", "offset", "value", "control")
    return {
        (partition, offset): (value.encode(), None) if control is None else (None, control.encode())
        for partition, offset, value, control in log.select(columns).iter_rows()
    }


KILLED_WHILE_PUBLISHING = """
import os, signal, sys
from jobs.datasets.flights import publish
from tests.spark.test_flights import topic  # noqa: F401 - a fixture
def progress(done, total):
    if done >= 60_000:
        os.kill(os.getpid(), signal.SIGKILL)
publish(sys.argv[1], progress, topic=sys.argv[2])
"""


def test_a_killed_publication_is_continued_and_then_nothing_is_appended(
    kafka_broker: str, topic: str, log: pl.DataFrame
) -> None:
    command = [sys.executable, "-c", KILLED_WHILE_PUBLISHING, kafka_broker, topic]
    killed = subprocess.run(command, cwd=ROOT, timeout=120, capture_output=True, check=False)
    assert killed.returncode == -9, killed.stderr
    before = sum(end_offsets(kafka_broker, topic).values())
    assert 0 < before < log.height
    news: list[tuple[int, int]] = []
    done = publish(kafka_broker, lambda at, total: news.append((at, total)), topic=topic, log=log)
    assert (done.records, done.appended) == (log.height, log.height - before)
    assert news == sorted(news)
    assert news[-1] == (done.appended, done.appended)
    assert held(kafka_broker, topic) == wanted(log)
    again = publish(kafka_broker, topic=topic, log=log)
    assert again == PublishResult(log.height, 0, again.seconds)
    assert sum(end_offsets(kafka_broker, topic).values()) == log.height
