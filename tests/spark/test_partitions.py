"""A topic gets partitions while a run reads it: the job names them, and goes on once accepted.

W5: a partition that was added was an `IndexError` without end, or read as one of the other topic of
a join. `verify` proves the tables on the whole log, the new partitions with it.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from chaos.readers.delta import read_tables
from chaos.readers.topic import read_topics
from chaos.verdict.verify import verify
from infra import stack
from infra.endpoints import Endpoints
from jobs.brokers.producing import send_all
from jobs.brokers.topics import add_partitions, create_topics
from jobs.checkpoints import partitions
from jobs.checkpoints.partitions import REFUSED_BATCH, PartitionsError, accept
from jobs.runs import FAILURE_FILE, Run
from jobs.runs.folder import write_note
from slackwater.main import app
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.model.added_lanes import AddedLane
from windowing.model.file.versions import with_lanes
from windowing.semantics.log import BadLogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PIPELINE = """
name: p
source: {{topic: {l}, partitions: 2, format: json, event_time: {{field: ts, unit: us}},
  fields: {{v: int}}, disorder: {{slack: 1 us}}}}
late: {{policy: update, every: 5 us}}
retention: 100 us
shards: 2
queries:
  w: {{window: RANGE 4 us SLIDE 4 us WATTR ts, aggregates: {{n: count, s: sum(v)}}}}
  r: {{window: RANGE 3 rows SLIDE 2 rows WATTR row_num ORDER event_time, aggregates: {{n: count}},
    late: {{policy: dead_letter}}}}
"""
JOIN = """
name: p
join:
  left: {{source: {{topic: {l}, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
    fields: {{v: int}}, disorder: ordered}}, window: 3 us}}
  right: {{source: {{topic: {r}, partitions: 2, format: json, event_time: {{field: at, unit: us}},
    fields: {{v: int}}, disorder: ordered}}, window: 3 us}}
  kind: full
  equal: [v]
  select: {{l: left.v, r: right.v}}
shards: 2
"""


@dataclass
class Job:
    """One run of a pipeline on topics of its own."""

    pipeline: Pipeline
    bootstrap: str
    root: Path
    run: Run = field(init=False)

    def __post_init__(self) -> None:
        folder = self.root / "runs" / "p" / "r1"
        folder.mkdir(parents=True)
        file = folder / "p.yml"
        for copy in (file, self.root / "p.yml"):
            copy.write_text(self.pipeline.text)
        places = (folder, folder / "checkpoint", self.root / "tables", file)
        self.run = Run("p", "r1", "", *places)
        write_note(self.run)
        create_topics(self.pipeline, self.bootstrap)

    def send(self, partition: int, times: range, side: int = 0) -> None:
        """Records at these times in one partition of one topic."""
        part = self.pipeline.source.parts[side]
        timed = part.event_time.field
        rows = [(partition, json.dumps({timed: ts, "v": ts // 4}).encode(), None) for ts in times]
        send_all(self.bootstrap, part.topic, rows)

    def start(self, *, available_now: bool = True) -> str | None:
        """Run the job to its end; gives why it gave up, if it did."""
        from jobs.pipeline import main

        failure = self.run.folder / FAILURE_FILE
        failure.unlink(missing_ok=True)
        args = [str(self.run.file), "--run", "r1", "--bootstrap", self.bootstrap]
        args += ["--checkpoint", str(self.run.checkpoint), "--table", str(self.run.table)]
        assert main([*args, *(["--available-now"] if available_now else [])]) == 0
        return json.loads(failure.read_text())["error"] if failure.exists() else None

    def right(self) -> None:
        """`verify` passes by the file that the run has now, and names what an older one lacks."""
        own = load_pipeline(self.run.file)
        log = list(read_topics(self.bootstrap, own.source))
        verdict = verify(own, log, read_tables(self.run.table, own, "r1"))
        assert verdict.ok, "\n".join(verdict.lines())
        assert verdict.rows.expected > 0
        if own.source.added_lanes:
            with pytest.raises(BadLogError, match=r"is a partition .*--accept-partitions"):
                verify(self.pipeline, log, read_tables(self.run.table, self.pipeline, "r1"))


@pytest.fixture
def bootstrap(
    spark: SparkSession, kafka_broker: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The broker; accepting reads the state in the session that is there."""

    @contextmanager
    def shared(name: str) -> Iterator[SparkSession]:
        del name
        yield spark

    monkeypatch.setattr(partitions, "own_session", shared)
    yield kafka_broker
    spark.catalog.clearCache()


def job(text: str, bootstrap: str, root: Path) -> Job:
    names = {side: f"{side}-{uuid.uuid4().hex[:8]}" for side in "lr"}
    return Job(parse_pipeline(text.format(**names)), bootstrap, root)


def test_a_partition_that_nobody_declared_is_no_lane_of_the_other_topic(
    spark: SparkSession,
) -> None:
    from windowing.spark.sources.raw import raw_rows

    pipeline = parse_pipeline(JOIN.format(l="l", r="r"))
    lanes = (AddedLane("r", 2, 3), AddedLane("l", 1, 4))
    for source, expected in (
        (pipeline.source, {"l/0": 0, "r/0": 1, "r/1": 2, "l/1": -3, "r/2": -6}),
        (with_lanes(pipeline, lanes).source, {"l/0": 0, "r/1": 2, "r/2": 3, "l/1": 4, "l/2": -5}),
    ):
        rows = [(name[0], int(name[2:]), 7, b"") for name in expected]
        schema = "topic string, partition int, offset long, value binary"
        numbered = raw_rows(spark.createDataFrame(rows, schema), source)
        numbers = [row["partition"] for row in numbered.collect()]
        assert numbers == list(expected.values())
        assert [source.lane(number) for number in numbers] == list(expected)


def test_a_stopped_run_takes_a_partition_in(bootstrap: str, tmp_path: Path) -> None:
    it = job(PIPELINE, bootstrap, tmp_path)
    topic = it.pipeline.source.topic
    for partition in (0, 1):
        it.send(partition, range(20))
    assert it.start() is None
    with pytest.raises(PartitionsError, match="nothing to accept"):
        accept(it.run, it.pipeline, bootstrap)
    add_partitions(bootstrap, topic, 3)
    it.send(2, range(10, 40))
    for partition in (0, 1):
        it.send(partition, range(20, 40))
    said = it.start()
    assert said is not None
    assert said.startswith(f"{topic}/2 is a partition that the pipeline does not declare")
    failure = it.run.folder / FAILURE_FILE
    assert json.loads(failure.read_text())[REFUSED_BATCH] == 1
    # Without the driver's word for it, nobody knows whether batch 1 was sent.
    noted = failure.read_text()
    failure.unlink()
    with pytest.raises(PartitionsError, match="batch 1 of run r1 was begun, and is not done"):
        accept(it.run, it.pipeline, bootstrap)
    failure.write_text(noted)
    accepted = accept(it.run, it.pipeline, bootstrap)
    assert [(lane.name, lane.number, lane.at) for lane in accepted.lanes] == [
        (f"{topic}/2", 2, (("ts", 18),))
    ]
    assert it.start() is None
    it.right()
    it.send(2, range(40, 60))
    assert it.start() is None
    it.right()


def test_a_running_job_ends_at_a_partition_of_either_side_of_a_join(
    bootstrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = job(JOIN, bootstrap, tmp_path)
    left, right = (part.topic for part in it.pipeline.source.parts)
    it.send(0, range(20))
    it.send(0, range(20), side=1)
    it.send(1, range(20), side=1)
    ended: list[str | None] = []
    running = threading.Thread(target=lambda: ended.append(it.start(available_now=False)))
    running.start()
    until_s = time.monotonic() + 60
    while not (it.run.checkpoint / "commits" / "0").exists():
        assert time.monotonic() < until_s
        time.sleep(0.2)
    add_partitions(bootstrap, left, 2)  # and nothing comes in it
    running.join(timeout=60)
    assert ended
    assert ended[0] is not None
    assert ended[0].startswith(f"{left}/1 is a partition that the pipeline does not declare")
    add_partitions(bootstrap, right, 3)
    endpoints = Endpoints(bootstrap, "", "", "", "", "", "", tmp_path, "")
    monkeypatch.setattr(stack, "endpoints", lambda only: endpoints)
    done = CliRunner().invoke(app, ["topics", str(tmp_path / "p.yml"), "--accept-partitions"])
    assert done.exit_code == 0, done.output
    assert f"{left}/1 joins run r1 as lane 3; its progress: ts 19\n" in done.stdout
    assert f"{right}/2 joins run r1 as lane 4; its progress: at 19\n" in done.stdout
    assert f"partitions: 3\njoined:\n  {right}/2:\n    lane: 4\n" in done.stdout
    for side, partitions_ in enumerate((2, 3)):
        for partition in range(partitions_):
            it.send(partition, range(15, 40), side=side)
    assert it.start() is None
    it.right()
