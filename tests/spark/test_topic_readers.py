"""The independent reader of topics, and ranges of a topic copied into a plan."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from msgspec.structs import replace

from chaos.faults.fault import FaultContext
from chaos.faults.producer import DuplicateSends, PoisonRecords
from chaos.readers.log import LogError, LogRecord
from chaos.readers.topic import committed_ends, read_topic
from chaos.workload.feed import cut, in_its_lanes, send_body, send_ends, send_reserve
from chaos.workload.kinds import Workload
from chaos.workload.origin import Origin, RangeError, read_range
from chaos.workload.own_pipeline import own_pipeline
from chaos.workload.records import WorkloadRecord
from infra.endpoints import Endpoints
from jobs.brokers.broker import BrokerError
from jobs.brokers.producing import send_all
from jobs.brokers.topics import create_topic, end_offsets
from tests.unit.chaos.faults.test_faults import Job, context_of
from tests.unit.chaos.workload.test_own_workload import SHOP
from windowing.model import Pipeline, parse_pipeline
from windowing.model.metadata import Metadata
from windowing.semantics import evaluate

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
    found = list(read_topic(kafka_broker, topic, ends={0: 0, 1: 3}))
    assert [replace(one, metadata=Metadata()) for one in found] == [
        LogRecord(topic, 1, 0, b"a", None, None),
        LogRecord(topic, 1, 1, None, None, None),
        LogRecord(topic, 1, 2, None, b'{"end":true}', None),
    ]
    assert [one.metadata.key for one in found] == [b"k", b"k", None]  # of a control: none
    assert found[0].metadata.headers == (("other", b"x"),)
    assert [one.offset for one in read_topic(kafka_broker, topic)] == [0, 1, 2, 3]
    with pytest.raises(LogError, match=r"has 2 partitions, none of them \[2\]"):
        list(read_topic(kafka_broker, topic, ends={2: 1}))


def test_a_topic_that_is_not_there(kafka_broker: str) -> None:
    with pytest.raises(LogError, match="'nowhere' does not exist"):
        list(read_topic(kafka_broker, "nowhere"))


VALUES = [f'{{"at":{n},"shop":"süd","amount":1}}'.encode() for n in range(10)]
SEEN = b'{"now":5,"seen":{"orders/1":4}}'


@pytest.fixture
def orders(kafka_broker: str) -> str:
    """A topic of two partitions: values, a null, non-text bytes, controls, an end."""
    topic = f"orders-{uuid4().hex[:8]}"
    create_topic(kafka_broker, topic, 2)
    messages = [(n % 2, value, None) for n, value in enumerate(VALUES)]
    messages += [(0, b"\xff\xfe", None), (0, b"", SEEN), (1, b"", b'{"end":true}')]
    send_all(kafka_broker, topic, messages)
    return topic


def pipeline_of(topic: str) -> Pipeline:
    return parse_pipeline(SHOP.replace("orders", topic))


def ranged(broker: str, topic: str, **edges: object) -> list[WorkloadRecord]:
    workload = Workload.model_validate({"topic": topic, "max_offsets": 10, **edges})
    return list(read_range(broker, workload, pipeline_of(topic)))


def test_a_range_is_read_byte_for_byte_except_for_the_ends(kafka_broker: str, orders: str) -> None:
    found = ranged(kafka_broker, orders)
    assert {one.value for one in found} >= {*VALUES, b"\xff\xfe"}
    assert [one.control for one in found if one.control] == [SEEN]
    part = ranged(kafka_broker, orders, **{"from": {0: 2, 1: 4}, "to": {0: 4}})
    assert sorted((one.partition, one.value) for one in part) == [
        (0, VALUES[4]),
        (0, VALUES[6]),
        (1, VALUES[9]),
    ]
    assert ranged(kafka_broker, orders, to="2013-01-01T00:00:00Z") == []
    assert len(ranged(kafka_broker, orders, **{"from": "2013-01-01T00:00:00Z"})) == len(found)


def test_a_range_that_is_not_there_is_refused(
    kafka_broker: str, orders: str, dead_broker: str
) -> None:
    with pytest.raises(RangeError, match=r"/0: it ends at 7: say an earlier end"):
        ranged(kafka_broker, orders, to={0: 99})
    with pytest.raises(RangeError, match=r"there is no partition .*/5: it has 2"):
        ranged(kafka_broker, orders, **{"from": {5: 1}})
    other = parse_pipeline(
        SHOP.replace("partitions: 2", "partitions: 1").replace(
            "orders/0: {max_delay: 2 s}, orders/1: {max_delay: 2 s}", "orders/0: {max_delay: 2 s}"
        )
    )
    with pytest.raises(RangeError, match="has 2 partitions, the pipeline declares 1"):
        list(read_range(kafka_broker, Workload(topic=orders, max_offsets=10), other))
    with pytest.raises(LogError):
        ranged(kafka_broker, "no-such-topic")
    workload = Workload(topic=orders, max_offsets=10)
    with pytest.raises((BrokerError, LogError)):
        Origin(workload, pipeline_of(orders), Path(), 1, lambda: dead_broker).records()


def test_what_is_copied_means_the_same_under_its_own_topic(
    kafka_broker: str, orders: str, tmp_path: Path
) -> None:
    """The copy has the same rows and dead letters as the original log."""
    users, run = pipeline_of(orders), uuid4().hex[:8]
    (tmp_path / "p.yml").write_text(users.text)
    own = own_pipeline(tmp_path / "p.yml", run, topic=f"copy-{run}")
    records = Origin(
        Workload(topic=orders, max_offsets=10), users, Path(), 1, lambda: kafka_broker
    ).records()
    part = in_its_lanes(cut(records, own, reserve=3), users, own)
    send_body(own, kafka_broker, part)
    sent = send_reserve(own, kafka_broker, part, [0])
    sent |= send_reserve(own, kafka_broker, part, [1])
    assert sum(sent.values()) == 3
    assert send_ends(own, kafka_broker, part) == 2
    copy = evaluate(own, list(read_topic(kafka_broker, own.source.topic)))
    log = [r for r in read_topic(kafka_broker, orders) if r.control != b'{"end":true}']
    ends = [r for r in read_topic(kafka_broker, own.source.topic) if r.control == b'{"end":true}']
    moved = [type(r)(orders, r.partition, r.offset, None, r.control, None) for r in ends]
    wanted = evaluate(users, [*log, *moved])
    assert [(r.window_id, r.key, r.records) for r in copy.rows] == [
        (r.window_id, r.key, r.records) for r in wanted.rows
    ]
    assert [(d.partition, d.offset, d.reason) for d in copy.dead] == [
        (d.partition, d.offset, d.reason) for d in wanted.dead
    ]


@pytest.fixture
def context(kafka_broker: str, orders: str, tmp_path: Path) -> FaultContext:
    found = context_of(Job(tmp_path), tmp_path)
    found.endpoints = Endpoints(kafka_broker, "", "", "", "", "", "", tmp_path, "")
    found.topic, found.pipeline = orders, pipeline_of(orders)
    return found


def test_poison_of_any_pipeline_is_what_the_definition_refuses(context: FaultContext) -> None:
    """Poison used to be derived from a flight, even for pipelines without flights."""
    said = PoisonRecords().inject(context)
    reasons = {one.reason for one in context.poison}
    assert reasons == {
        "malformed",
        "missing_event_time",
        "bad_event_time",
        "time_out_of_range",
        "time_ahead",
        "unknown_field",
        "null_key",
        "bad_type",
    }
    assert said.startswith(f"{len(context.poison)} poisoned records stand in the topic")
    log = list(read_topic(context.endpoints.kafka_bootstrap, context.topic))
    whole = [r for r in log if r.control != b'{"end":true}']
    dead = {(d.partition, d.offset): d.reason for d in evaluate(context.pipeline, whole).dead}
    assert all(dead[one.partition, one.offset] == one.reason for one in context.poison)


def test_copies_are_the_bytes_of_records_and_no_controls(context: FaultContext) -> None:
    bootstrap = context.endpoints.kafka_bootstrap
    before = end_offsets(bootstrap, context.topic)
    DuplicateSends(records=40).inject(context)
    copies = [
        record
        for record in read_topic(bootstrap, context.topic)
        if record.offset >= before[record.partition]
    ]
    assert sum(context.sent.values()) == len(copies) == 11
    assert {record.value for record in copies} == {*VALUES, b"\xff\xfe"}
