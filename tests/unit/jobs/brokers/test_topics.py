"""Topics are made as declared, never changed, and what is wrong is said in one sentence."""

import uuid

import pytest

from jobs.brokers.broker import BrokerError
from jobs.brokers.topics import create_topics, end_offsets
from windowing.model import Pipeline, parse_pipeline

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


def pipeline(topic: str, partitions: int = 2, disorder: str = "ordered") -> Pipeline:
    return parse_pipeline(PIPELINE.format(topic=topic, partitions=partitions, disorder=disorder))


@pytest.fixture
def name() -> str:
    return f"topic-{uuid.uuid4().hex[:8]}"


def test_a_dead_broker_is_one_sentence(dead_broker: str, name: str) -> None:
    with pytest.raises(BrokerError, match=r"no Kafka broker answers on .*refused.*slackwater up"):
        create_topics(pipeline(name, 1), dead_broker)
    with pytest.raises(BrokerError, match="no Kafka broker answers"):
        end_offsets(dead_broker, name)


@pytest.mark.parametrize("address", ["", "localhost", "localhost:", ":9092", "a:b", "a:1,b"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(BrokerError, match=r"not a Kafka broker's address: give host:port"):
        end_offsets(address, "t")
