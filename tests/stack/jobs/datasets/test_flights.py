"""The flights are the log that the issue describes, and the topic holds it exactly once."""

import subprocess
import sys

import polars as pl

from chaos.readers.topic import read_topic
from jobs.brokers.topics import end_offsets
from jobs.datasets.flights import PublishResult, publish
from tests.spark.test_flights import topic  # noqa: F401 - a fixture
from tests.unit.jobs.datasets.test_flights import ROOT, log  # noqa: F401 - a fixture


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
