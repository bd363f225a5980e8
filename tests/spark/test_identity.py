"""The job on a real log whose checkpoint, tables or topic are not what they were.

W2 and W10: batches that were cut otherwise were passed over, and a topic that was made again read
on, in silence. Each of these ends with the definition's rows, or with an error that names it.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chaos.readers.delta import read_tables
from chaos.readers.topic import read_topics
from chaos.verdict.verify import Verdict, verify
from jobs.brokers.producing import send_all
from jobs.brokers.topic_admin import delete_topic
from jobs.brokers.topics import create_topics, end_offsets
from jobs.checkpoints.plans import read_checkpoint
from jobs.runs import FAILURE_FILE
from jobs.runs.owner import OWNER_FILE, REFUSED_FILE, Owner
from windowing.model import Pipeline, parse_pipeline
from windowing.spark.sources.reading import BYTES, limit_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PIPELINE = """
name: p
source: {{topic: {topic}, partitions: 2, format: json, event_time: {{field: ts, unit: us}},
  fields: {{v: int}}, disorder: ordered}}
shards: 2
queries: {{w: {{window: RANGE 4 us SLIDE 4 us WATTR ts, aggregates: {{n: count, s: sum(v)}}}}}}
"""


@dataclass
class Job:
    """One run of a pipeline on a topic of its own."""

    pipeline: Pipeline
    bootstrap: str
    root: Path
    sent: int = 0
    folder: Path = field(init=False)
    tables: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder, self.tables = self.root / "run", self.root / "tables"
        self.folder.mkdir()
        (self.root / "p.yml").write_text(self.pipeline.text)
        create_topics(self.pipeline, self.bootstrap)

    @property
    def topic(self) -> str:
        return self.pipeline.source.topic

    def send(self, count: int) -> None:
        """Records at the times 0, 1, … in both partitions."""
        times = range(self.sent, self.sent + count)
        rows = [(p, json.dumps({"ts": ts, "v": ts}).encode(), None) for ts in times for p in (0, 1)]
        send_all(self.bootstrap, self.topic, rows)
        self.sent += count

    def run(self, max_offsets: int) -> str | None:
        """Take what is there; gives why the job gave up, if it did."""
        from jobs.pipeline import main

        (self.folder / FAILURE_FILE).unlink(missing_ok=True)
        args = [str(self.root / "p.yml"), "--run", "r1", "--bootstrap", self.bootstrap]
        args += ["--checkpoint", str(self.folder / "checkpoint"), "--table", str(self.tables)]
        assert main([*args, "--max-offsets", str(max_offsets), "--available-now"]) == 0
        failure = self.folder / FAILURE_FILE
        return json.loads(failure.read_text())["error"] if failure.exists() else None

    def verdict(self) -> Verdict:
        log = list(read_topics(self.bootstrap, self.pipeline.source))
        return verify(self.pipeline, log, read_tables(self.tables, self.pipeline, "r1"))

    def right(self) -> None:
        verdict = self.verdict()
        assert verdict.ok, "\n".join(verdict.lines())
        assert verdict.rows.expected > 0


@pytest.fixture
def job(spark: SparkSession, kafka_broker: str, tmp_path: Path) -> Iterator[Job]:
    topic = f"identity-{uuid.uuid4().hex[:8]}"
    yield Job(parse_pipeline(PIPELINE.format(topic=topic)), kafka_broker, tmp_path)
    spark.catalog.clearCache()


def test_a_checkpoint_that_was_put_back_or_deleted_is_run_again_as_it_was(job: Job) -> None:
    checkpoint, copy = job.folder / "checkpoint", job.root / "copy"
    job.send(4)
    assert job.run(100) is None
    shutil.copytree(checkpoint, copy)
    for _ in range(2):
        job.send(3)
        assert job.run(100) is None
    assert read_checkpoint(checkpoint).committed == 2
    before = job.tables / "w"
    rows = len(list(before.rglob("*.parquet")))

    shutil.rmtree(checkpoint)
    shutil.copytree(copy, checkpoint)
    job.send(5)
    assert job.run(100) is None  # one batch of all would be batch 1, which the tables have
    job.right()
    assert read_checkpoint(checkpoint).committed == 3
    assert len(list(before.rglob("*.parquet"))) == rows + 1

    shutil.rmtree(checkpoint)
    job.send(2)
    assert job.run(100) is None
    job.right()
    assert read_checkpoint(checkpoint).committed == 4


def test_a_lost_table_a_second_driver_and_a_new_topic_are_named(
    job: Job, spark: SparkSession
) -> None:
    job.send(6)
    limit_batches(spark, None)
    assert job.run(100) is None
    assert spark.conf.get(BYTES) == str((1 << 31) - 1)  # by the topic's `max.message.bytes`
    job.right()

    aside = job.tables / "w-aside"
    (job.tables / "w").rename(aside)
    said = job.run(100)
    assert said is not None
    assert "table w in" in said
    assert "is missing" in said
    assert not (job.tables / "w").exists()
    aside.rename(job.tables / "w")

    # Another living process has the run: this one; the second driver ends, and the run goes on.
    first = Owner(job.folder, beat_s=0.05, silent_s=0.5)
    first.claim()
    second = Owner(job.folder, beat_s=0.05, silent_s=0.5)
    from jobs import pipeline as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "Owner", lambda folder: second)
        assert job.run(100) is None
    assert "second driver ends" in json.loads((job.folder / REFUSED_FILE).read_text())["error"]
    assert (job.folder / OWNER_FILE).exists()
    first.release()

    delete_topic(job.bootstrap, job.topic)
    create_topics(job.pipeline, job.bootstrap)
    job.send(20)  # beyond what the checkpoint has read
    assert min(end_offsets(job.bootstrap, job.topic).values()) == 20
    said = job.run(100)
    assert said is not None
    assert "was deleted and made again" in said
    assert said.count("id ") == 1
