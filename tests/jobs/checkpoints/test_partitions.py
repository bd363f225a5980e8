"""New partitions are named wherever they are met, and join a run that nobody works on."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from types import SimpleNamespace

import pytest

from infra.endpoints import Endpoints
from jobs import runs
from jobs.brokers.topics import TopicError, add_partitions, create_topics, lane_ends
from jobs.checkpoints.partitions import REFUSED_BATCH, PartitionsError, accept, look
from jobs.runs import FAILURE_FILE, Run
from jobs.runs.folder import write_note
from jobs.runs.owner import Owner
from jobs.tools.heartbeat import watching
from jobs.tools.recording import Event, record
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.model.file.joining import with_lanes
from windowing.model.run_errors import UndeclaredPartition

PIPELINE = """
name: p
source:
  topic: {topic}
  partitions: {partitions}
  format: json
  event_time: {{field: ts, unit: us}}
  fields: {{k: string}}
  disorder: {disorder}
queries:
  q: {{window: RANGE 1 hour SLIDE 1 hour WATTR ts, aggregates: {{n: count}}}}
"""
NAMED = r"/2 is a partition that the pipeline does not declare .*--accept-partitions"


def pipeline(topic: str, partitions: int = 2, disorder: str = "ordered") -> Pipeline:
    return parse_pipeline(PIPELINE.format(topic=topic, partitions=partitions, disorder=disorder))


@pytest.fixture
def topic(kafka_broker: str) -> str:
    """A topic that has a partition more than was declared."""
    name = f"grown-{uuid.uuid4().hex[:8]}"
    create_topics(pipeline(name), kafka_broker)
    add_partitions(kafka_broker, name, 3)
    return name


def begun(root: Path, spec: Pipeline) -> Run:
    """A run whose first batch has not been committed."""
    folder = root / "runs" / "p" / "r1"
    checkpoint, file = folder / "checkpoint", folder / "p.yml"
    checkpoint.mkdir(parents=True)
    file.write_text(spec.text)
    run = Run("p", "r1", "driver-1", folder, checkpoint, root / "tables" / "p", file)
    write_note(run)
    return run


@pytest.mark.kafka
def test_commands_name_the_partition(kafka_broker: str, topic: str) -> None:
    spec = pipeline(topic)
    with pytest.raises(TopicError, match=rf"{topic}/2 was added, .*--accept-partitions"):
        create_topics(spec, kafka_broker)
    with pytest.raises(TopicError, match=NAMED):
        lane_ends(kafka_broker, spec.source)
    assert lane_ends(kafka_broker, spec.source, declared_only=True) == {0: 0, 1: 0}
    with pytest.raises(TopicError, match=NAMED), watching(spec, kafka_broker):
        pass
    with pytest.raises(UndeclaredPartition, match=NAMED):
        record(spec, [Event(topic, 2, 0, b"{}", None, None)])


@pytest.mark.kafka
def test_a_run_takes_it_in(kafka_broker: str, topic: str, tmp_path: Path) -> None:
    """Whatever else is in the user's file stays there; the run's name is enough to find it."""
    spec = pipeline(topic)
    run = begun(tmp_path, spec)
    accepted = accept(run, spec, kafka_broker)
    assert [(lane.name, lane.number, lane.at) for lane in accepted.lanes] == [(f"{topic}/2", 2, ())]
    own = load_pipeline(run.file)
    assert spec.fingerprint in own.earlier
    create_topics(own, kafka_broker)
    endpoints = Endpoints(kafka_broker, "", "", "", "", "", "", tmp_path, "")
    scheduled = parse_pipeline(spec.text + "schedule: '@daily'\n")
    found = runs.as_accepted(endpoints, scheduled, "r1")
    assert (found.fingerprint, found.schedule) == (own.fingerprint, "@daily")
    assert runs.as_accepted(endpoints, spec, "r2") is spec
    other = pipeline(topic, disorder="{slack: 1 s}")
    assert runs.as_accepted(endpoints, other, "r1") is other
    told_otherwise = parse_pipeline(own.text.replace("at: {}", "at: {ts: 7}"))
    assert runs.as_accepted(endpoints, told_otherwise, "r1") is told_otherwise
    with pytest.raises(PartitionsError, match="that is all there is: nothing to accept"):
        accept(run, spec, kafka_broker)
    add_partitions(kafka_broker, topic, 5)
    with pytest.raises(PartitionsError, match="differs from the one"):
        accept(run, told_otherwise, kafka_broker)
    again = accept(run, spec, kafka_broker)
    assert [lane.number for lane in again.lanes] == [3, 4]
    assert [lane.number for lane in again.pipeline.source.joined_lanes] == [2, 3, 4]


@pytest.mark.kafka
def test_what_cannot_be_accepted(kafka_broker: str, topic: str, tmp_path: Path) -> None:
    spec = pipeline(topic)
    run = begun(tmp_path, spec)
    with pytest.raises(PartitionsError, match="differs from the one that the run was submitted"):
        accept(run, pipeline(topic, disorder="{slack: 1 s}"), kafka_broker)
    (run.checkpoint / "offsets").mkdir()
    (run.checkpoint / "offsets" / "0").write_text("v1\n{}\n{}")
    failure = run.folder / FAILURE_FILE
    for said in ({"error": "another"}, {"error": "this", REFUSED_BATCH: 1}):
        failure.write_text(json.dumps(said))
        with pytest.raises(PartitionsError, match="batch 0 of run r1 was begun, and is not done"):
            accept(run, spec, kafka_broker)
    failure.write_text(json.dumps({"error": "this", REFUSED_BATCH: 0}))
    living = Owner(run.folder, beat_s=0.05)
    living.claim()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jobs.checkpoints.partitions.Owner", lambda folder: Owner(folder, 0.05, 0.3))
        with pytest.raises(PartitionsError, match="has a job that is alive"):
            accept(run, spec, kafka_broker)
    living.release()
    assert load_pipeline(run.file).fingerprint == spec.fingerprint
    assert accept(run, spec, kafka_broker).lanes


@pytest.mark.kafka
def test_a_generator_that_names_lanes_names_the_new_one(
    kafka_broker: str, topic: str, tmp_path: Path
) -> None:
    lanes = [f"{topic}/{number}: {{max_delay: 5 s}}" for number in range(3)]
    spec = pipeline(topic, 2, f"{{heartbeat: {{{', '.join(lanes[:2])}}}}}")
    run = begun(tmp_path, spec)
    with pytest.raises(PartitionsError, match=f"{topic}/2 is missing.*say what holds for these"):
        accept(run, spec, kafka_broker)
    grown = pipeline(topic, 3, f"{{heartbeat: {{{', '.join(lanes)}}}}}")
    assert accept(run, grown, kafka_broker).pipeline.earlier == {spec.fingerprint: 2}


def test_what_spark_reports_is_looked_at() -> None:
    source = pipeline("t").source
    known = SimpleNamespace(endOffset='{"t": {"0": 5, "1": 0}}', latestOffset=None)
    look(None, source)
    look(SimpleNamespace(sources=[known]), source)
    for offsets in ('{"t": {"0": 5, "2": 0}}', '{"t": {"2": 7}}'):
        latest = SimpleNamespace(endOffset=known.endOffset, latestOffset=offsets)
        with pytest.raises(UndeclaredPartition, match=NAMED):
            look(SimpleNamespace(sources=[latest]), source)


def test_a_record_replaces_an_earlier_one() -> None:
    spec = pipeline("t")
    joined = parse_pipeline(
        spec.text.replace("partitions: 2", "partitions: 3\n  joined: {t/2: {lane: 2, at: {ts: 5}}}")
    )
    assert with_lanes(spec, joined.source.joined_lanes).fingerprint == joined.fingerprint
    assert with_lanes(joined, joined.source.joined_lanes).fingerprint == joined.fingerprint
