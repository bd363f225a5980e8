"""What a broker says of topics: ids that never come again, ends, and how they are cleaned."""

from __future__ import annotations

import uuid

import pytest

from jobs.brokers.broker import BrokerError
from jobs.checkpoints.topic_facts import TopicIds, topics_of
from tests.unit.jobs.brokers.test_topics import pipeline


@pytest.fixture
def name() -> str:
    return f"facts-{uuid.uuid4().hex[:8]}"


def test_a_dead_broker_is_waited_for_and_then_one_sentence(
    dead_broker: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobs.checkpoints import topic_facts

    monkeypatch.setattr(topic_facts, "_PATIENCE_S", 0.5)
    source = pipeline(name, 1).source
    with pytest.raises(BrokerError, match="no Kafka broker answers"):
        TopicIds(dead_broker, source)()
    with pytest.raises(BrokerError, match="no Kafka broker answers"):
        topics_of(dead_broker, source)
