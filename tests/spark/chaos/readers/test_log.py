"""The independent reader returns every record byte for byte."""

import uuid
from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient, KafkaProducer

from chaos.readers.log import LogError, LogRecord
from chaos.readers.topic import committed_ends, read_topic

# --- topics ----------------------------------------------------------------------------------


@pytest.fixture
def topic(kafka_broker: str) -> Iterator[str]:
    name = f"log-{uuid.uuid4().hex[:8]}"
    admin = KafkaAdminClient(bootstrap_servers=kafka_broker)
    settings = {"num_partitions": 2, "replication_factor": 1}
    admin.create_topics({name: settings}, wait_for_metadata=True)
    yield name
    admin.delete_topics([name])
    admin.close()


def test_holes_markers_and_aborted_records_are_passed_over(kafka_broker: str, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=kafka_broker, transactional_id=topic, linger_ms=5)
    producer.init_transactions()
    for turn in range(6):
        producer.begin_transaction()
        for part in (0, 1):
            producer.send(topic, value=b"%d" % turn, partition=part).get(timeout=10)
        if turn % 2:
            producer.abort_transaction()  # the topic ends with aborted records and their marker
        else:
            producer.commit_transaction()
    producer.close()
    ends = committed_ends(kafka_broker, topic)
    assert ends == {0: 12, 1: 12}
    records = list(read_topic(kafka_broker, topic, stall_s=10))
    for part in (0, 1):
        mine = [(one.offset, one.value) for one in records if one.partition == part]
        assert mine == [(0, b"0"), (4, b"2"), (8, b"4")]


def test_records_of_an_open_transaction_lie_beyond_the_end(kafka_broker: str, topic: str) -> None:
    plain = KafkaProducer(bootstrap_servers=kafka_broker)
    plain.send(topic, value=b"settled", partition=0).get(timeout=10)
    opened = KafkaProducer(bootstrap_servers=kafka_broker, transactional_id=topic)
    opened.init_transactions()
    opened.begin_transaction()
    opened.send(topic, value=b"open", partition=0).get(timeout=10)
    plain.send(topic, value=b"after", partition=0).get(timeout=10)
    assert committed_ends(kafka_broker, topic) == {0: 1, 1: 0}
    assert [one.value for one in read_topic(kafka_broker, topic)] == [b"settled"]
    with pytest.raises(LogError, match=rf"{topic}/0 stands at 1 of 3"):
        list(read_topic(kafka_broker, topic, ends={0: 3}, stall_s=1))
    opened.commit_transaction()
    assert [one.value for one in read_topic(kafka_broker, topic)] == [b"settled", b"open", b"after"]
    opened.close()
    plain.close()


def test_controls_nulls_given_ends_and_foreign_times(kafka_broker: str, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=kafka_broker)
    end = [("other", b"x"), ("slackwater-control", b'{"end":true}')]
    for value, headers in ((b"a", [("other", b"x")]), (None, []), (b"", end), (b"b", [])):
        producer.send(topic, key=b"k", value=value, partition=1, headers=headers)
    producer.close()
    # The topic has its producers' times, so no broker says when the records were appended.
    assert list(read_topic(kafka_broker, topic, ends={0: 0, 1: 3})) == [
        LogRecord(topic, 1, 0, b"a", None, None),
        LogRecord(topic, 1, 1, None, None, None),
        LogRecord(topic, 1, 2, None, b'{"end":true}', None),
    ]
    assert [one.offset for one in read_topic(kafka_broker, topic)] == [0, 1, 2, 3]
    with pytest.raises(LogError, match=r"has 2 partitions, none of them \[2\]"):
        list(read_topic(kafka_broker, topic, ends={2: 1}))


def test_a_topic_that_is_not_there(kafka_broker: str) -> None:
    with pytest.raises(LogError, match="'nowhere' does not exist"):
        list(read_topic(kafka_broker, "nowhere"))
