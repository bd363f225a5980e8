"""Control headers as brokers hand them over: one verdict of job, engine, definition and trace."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaProducer
from kafka.record.default_records import DefaultRecordBatchBuilder

from chaos.readers.log import read_events
from chaos.readers.topic import read_topic
from jobs.brokers.topics import create_topic
from jobs.tools.recording import record, write_events
from tests.strategies import Entry
from tests.unit.engine.test_engine import lines
from tests.unit.jobs.test_controls import SIGNED, VARIANTS
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, parse_pipeline
from windowing.model.control import ControlEnvelope, unsealed
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.runtime.local import run
from windowing.semantics import evaluate
from windowing.semantics.controls import read_control
from windowing.semantics.trace import trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PIPELINE = """
name: p
source: {{topic: {topic}, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
  fields: {{}}, disorder: ordered}}
queries: {{w: {{window: RANGE 10 us SLIDE 10 us WATTR ts, aggregates: {{n: count}}}}}}
"""


_NULL = b"null header"


@pytest.fixture
def null_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers may be null: the protocol allows it, and kafka-python's encoder alone knows it."""
    append = DefaultRecordBatchBuilder.append

    def appended(self: Any, *place: Any) -> Any:
        *others, headers = place
        return append(self, *others, [(k, None if v == _NULL else v) for k, v in headers])

    monkeypatch.setattr(DefaultRecordBatchBuilder, "append", appended)


def outcomes(pipeline: Pipeline, log: list[Entry]) -> list[str]:
    """What engine and definition, which must agree, make of a log; and its trace is whole."""
    outcome = evaluate(pipeline, log)
    defined = [*row_lines(outcome.rows), *dead_letter_lines(outcome.dead)]
    assert lines(run(pipeline, batches(log, 3, pipeline))) == defined
    assert len(list(trace(pipeline, log))) == len(log)
    return defined


def expected(topic: str) -> list[str]:
    dead = [offset for offset, (_, refused) in enumerate(VARIANTS, 1) if refused]
    place = {"source": topic, "partition": 0}
    return [
        json.dumps(
            {**place, "offset": offset, "query": None, "reason": "malformed"},
            separators=(",", ":"),
        )
        for offset in dead
    ]


@pytest.mark.usefixtures("null_headers")
def test_a_real_topic_with_every_variant(kafka_broker: str, tmp_path: Path) -> None:
    topic = f"controls-{uuid.uuid4().hex[:8]}"
    create_topic(kafka_broker, topic, 1)
    producer = KafkaProducer(bootstrap_servers=kafka_broker)
    producer.send(topic, value=b'{"ts":1}', partition=0)
    for headers, _ in VARIANTS:
        producer.send(
            topic,
            value=b"",
            partition=0,
            headers=[(k, _NULL if v is None else v) for k, v in headers],
        )
    producer.send(topic, value=b'{"ts":12}', partition=0)
    producer.close()
    pipeline = parse_pipeline(PIPELINE.format(topic=topic))
    log = list(read_topic(kafka_broker, topic))
    found = outcomes(pipeline, log)
    row, dead = found[0], found[1:]
    assert json.loads(row)["records"] == 1
    assert dead == expected(topic)
    # Recorded into a file it is the same log; the tools around disorder pass over dead letters.
    write_events(tmp_path / "events.jsonl", log)
    recorded = list(read_events(tmp_path / "events.jsonl"))
    assert outcomes(pipeline, recorded) == found
    assert len(record(pipeline, recorded).lanes[0]) == 2


def test_a_job_reads_them_alike(spark: SparkSession) -> None:
    from windowing.spark.sources.raw import raw_rows

    given: list[Any] = [[{"key": k, "value": v} for k, v in headers] for headers, _ in VARIANTS]
    given += [[{"key": "other", "value": b"x"}], [], None]
    schema = "headers array<struct<key:string,value:binary>>, "
    schema += "partition int, offset long, value binary"
    records = spark.createDataFrame([(headers, 0, 7, b"") for headers in given], schema)
    found = raw_rows(records, parse_pipeline(PIPELINE.format(topic="t")).source).collect()
    controls = [None if row["control"] is None else bytes(row["control"]) for row in found]
    assert controls[-3:] == [None, None, None]
    assert all(control is not None for control in controls[:-3])
    refused = [read_control(control) is None for control in controls[:-3]]
    assert refused == [refused for _, refused in VARIANTS]


@pytest.mark.parametrize("key", [True, False])
def test_a_job_hands_on_what_signs_a_record(spark: SparkSession, *, key: bool) -> None:
    from windowing.spark.sources.raw import raw_rows

    given: list[Any] = [[{"key": k, "value": v} for k, v in headers] for headers, _ in SIGNED]
    schema = "headers array<struct<key:string,value:binary>>, "
    schema += "partition int, offset long, value binary"
    records = spark.createDataFrame([(headers, 0, 7, b"") for headers in given], schema)
    text = PIPELINE.format(topic="t")
    if key:
        text = text.replace("disorder: ordered", "disorder: ordered, control: {key: SOME_KEY}")
    found = raw_rows(records, parse_pipeline(text).source).collect()
    read = [unsealed(bytes(row["control"])) for row in found]
    # Nobody looks at a signature where none is asked for.
    assert read == [due if key else ControlEnvelope(due.body) for _, due in SIGNED]
