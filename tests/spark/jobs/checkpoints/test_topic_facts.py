"""What a broker says of topics: ids that never come again, ends, and how they are cleaned."""

from __future__ import annotations

import pytest

from jobs.brokers.producing import send_all
from jobs.brokers.topic_admin import clean_by, delete_topic, topic_id
from jobs.brokers.topics import TopicError, create_topic, delete_before
from jobs.checkpoints.topic_facts import TopicIds, topics_of
from tests.unit.jobs.brokers.test_topics import pipeline
from tests.unit.jobs.checkpoints.test_agreement import name  # noqa: F401 - a fixture


def test_a_topic_and_the_one_that_is_made_in_its_place(kafka_broker: str, name: str) -> None:
    source = pipeline(name, 2).source
    create_topic(kafka_broker, name, 2)
    send_all(kafka_broker, name, [(0, b"{}", None)] * 5)
    delete_before(kafka_broker, name, 0, 2)
    found = topics_of(kafka_broker, source)[name]
    assert (found.begins, found.ends, found.compacted) == ({0: 2, 1: 0}, {0: 5, 1: 0}, False)
    assert found.record_bytes_max == 1_048_588  # Kafka's default
    for policy, expected in (("compact,delete", True), ("delete", False), ("compact", True)):
        clean_by(kafka_broker, name, policy)
        assert topics_of(kafka_broker, source)[name].compacted is expected

    ids = TopicIds(kafka_broker, source)
    assert ids() == {name: found.topic_id} == {name: topic_id(kafka_broker, name)}
    delete_topic(kafka_broker, name)
    with pytest.raises(TopicError, match=f"'{name}' does not exist"):
        ids()
    with pytest.raises(TopicError, match=f"'{name}' does not exist"):
        topics_of(kafka_broker, source)
    create_topic(kafka_broker, name, 2)
    assert ids()[name] not in ("", found.topic_id)
    ids.close()
    assert ids()[name] not in ("", found.topic_id)
    ids.close()
