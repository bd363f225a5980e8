"""Topics are made as declared, never changed, and what is wrong is said in one sentence."""

import pytest

from jobs.brokers.topics import Topic, TopicError, create_topics, end_offsets
from tests.unit.jobs.brokers.test_topics import (
    name,  # noqa: F401 - a fixture
    pipeline,
)


def test_a_topic_is_made_once(kafka_broker: str, name: str) -> None:
    assert create_topics(pipeline(name, 5), kafka_broker) == [Topic(name, 5, True)]
    assert create_topics(pipeline(name, 5), kafka_broker) == [Topic(name, 5, False)]
    assert end_offsets(kafka_broker, name) == dict.fromkeys(range(5), 0)


def test_another_number_of_partitions_is_refused(kafka_broker: str, name: str) -> None:
    create_topics(pipeline(name, 2), kafka_broker)
    for declared in (1, 3):
        with pytest.raises(
            TopicError, match=rf"has 2 partitions, the pipeline declares {declared}"
        ):
            create_topics(pipeline(name, declared), kafka_broker)
    assert end_offsets(kafka_broker, name) == {0: 0, 1: 0}


def test_a_topic_that_is_not_there(kafka_broker: str, name: str) -> None:
    with pytest.raises(TopicError, match=f"'{name}' does not exist"):
        end_offsets(kafka_broker, name)
