"""New partitions are named wherever they are met, and join a run that nobody works on."""

from __future__ import annotations

import uuid
from types import SimpleNamespace

import pytest

from jobs.brokers.topics import add_partitions, create_topics
from jobs.checkpoints.partitions import look
from windowing.model import Pipeline, parse_pipeline
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
