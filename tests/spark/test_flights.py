"""The flights are the log that the issue describes, and the topic holds it exactly once."""

import time
import uuid

import polars as pl
import pytest
from kafka import KafkaProducer

from chaos.readers.topic import read_topic
from jobs.brokers.topics import TopicError, create_topic, end_offsets
from jobs.datasets.flights import publish
from tests.unit.jobs.test_datasets import log  # noqa: F401 - a fixture

# --- on a topic ------------------------------------------------------------------------------


@pytest.fixture
def topic(kafka_broker: str) -> str:
    name = f"flights-{uuid.uuid4().hex[:8]}"
    create_topic(kafka_broker, name, 3)
    return name


def test_append_times_are_the_brokers(kafka_broker: str, topic: str, log: pl.DataFrame) -> None:
    began_us = time.time_ns() // 1000 - 1_000_000
    publish(kafka_broker, topic=topic, log=log.head(50))
    times = [record.append_us for record in read_topic(kafka_broker, topic)]
    assert len(times) == 50
    assert all(one is not None and one > began_us for one in times)


@pytest.mark.parametrize(
    ("value", "headers"),
    [
        (b"{}", []),
        (b"", [("slackwater-control", b'{"end":true}')]),
        (None, [("slackwater-control", b'{"bound":1}')]),
    ],
)
def test_a_topic_that_holds_something_else_is_left_alone(
    kafka_broker: str,
    topic: str,
    log: pl.DataFrame,
    value: bytes | None,
    headers: list[tuple[str, bytes]],
) -> None:
    publish(kafka_broker, topic=topic, log=log.head(100))
    producer = KafkaProducer(bootstrap_servers=kafka_broker)
    producer.send(topic, key=b"k", value=value, headers=headers, partition=2).get(timeout=10)
    producer.close()
    ends = end_offsets(kafka_broker, topic)
    with pytest.raises(TopicError, match=r"holds something else than the flights: partition 2"):
        publish(kafka_broker, topic=topic, log=log)
    assert end_offsets(kafka_broker, topic) == ends


def test_a_longer_topic_is_an_error(kafka_broker: str, topic: str, log: pl.DataFrame) -> None:
    publish(kafka_broker, topic=topic, log=log.head(100))
    with pytest.raises(TopicError, match=r"holds something else"):
        publish(kafka_broker, topic=topic, log=log.head(50))


def test_missing_and_misshapen_topics(kafka_broker: str, log: pl.DataFrame) -> None:
    with pytest.raises(TopicError, match=r"'nowhere' does not exist .*slackwater topics"):
        publish(kafka_broker, topic="nowhere", log=log.head(1))
    create_topic(kafka_broker, "two-lanes", 2)
    with pytest.raises(TopicError, match=r"'two-lanes' has 2 partitions, the flights need 3"):
        publish(kafka_broker, topic="two-lanes", log=log.head(1))
