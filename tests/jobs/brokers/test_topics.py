"""Topics are made as declared, never changed, and what is wrong is said in one sentence."""

import uuid

import pytest

from jobs.brokers.broker import BrokerError
from jobs.brokers.topics import Topic, TopicError, create_topics, end_offsets
from windowing.model import Pipeline, parse_pipeline

PIPELINE = """
name: p
source:
  topic: {topic}
  partitions: {partitions}
  format: json
  event_time: {{field: ts, unit: us}}
  fields: {{k: string}}
  disorder: ordered
queries:
  q: {{window: RANGE 1 hour SLIDE 1 hour WATTR ts, aggregates: {{n: count}}}}
"""


def pipeline(topic: str, partitions: int) -> Pipeline:
    return parse_pipeline(PIPELINE.format(topic=topic, partitions=partitions))


@pytest.fixture
def name() -> str:
    return f"topic-{uuid.uuid4().hex[:8]}"


@pytest.mark.kafka
def test_a_topic_is_made_once(kafka_broker: str, name: str) -> None:
    assert create_topics(pipeline(name, 5), kafka_broker) == [Topic(name, 5, True)]
    assert create_topics(pipeline(name, 5), kafka_broker) == [Topic(name, 5, False)]
    assert end_offsets(kafka_broker, name) == dict.fromkeys(range(5), 0)


@pytest.mark.kafka
def test_another_number_of_partitions_is_refused(kafka_broker: str, name: str) -> None:
    create_topics(pipeline(name, 2), kafka_broker)
    for declared in (1, 3):
        with pytest.raises(
            TopicError, match=rf"has 2 partitions, the pipeline declares {declared}"
        ):
            create_topics(pipeline(name, declared), kafka_broker)
    assert end_offsets(kafka_broker, name) == {0: 0, 1: 0}


@pytest.mark.kafka
def test_a_topic_that_is_not_there(kafka_broker: str, name: str) -> None:
    with pytest.raises(TopicError, match=f"'{name}' does not exist"):
        end_offsets(kafka_broker, name)


def test_a_dead_broker_is_one_sentence(dead_broker: str, name: str) -> None:
    with pytest.raises(BrokerError, match=r"no Kafka broker answers on .*refused.*slackwater up"):
        create_topics(pipeline(name, 1), dead_broker)
    with pytest.raises(BrokerError, match="no Kafka broker answers"):
        end_offsets(dead_broker, name)


@pytest.mark.parametrize("address", ["", "localhost", "localhost:", ":9092", "a:b", "a:1,b"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(BrokerError, match=r"not a Kafka broker's address: give host:port"):
        end_offsets(address, "t")
