"""Topics: made as a pipeline declares them, and asked where they end."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import (
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)

from windowing.spec.source import Source

if TYPE_CHECKING:
    from windowing.spec import Pipeline

BOOTSTRAP_S = 10.0
"""How long to look for a broker, in seconds: a killed one is back within six."""


class BrokerError(RuntimeError):
    """No broker answers, or it refuses."""


class TopicError(RuntimeError):
    """A topic is not as the pipeline needs it."""


@dataclass(frozen=True)
class Topic:
    """A topic as it stands on the broker.

    Attributes:
        name: its name.
        partitions: how many it has.
        created: True if this call made it.
        append_times: True if the broker stamps records itself when it appends them. Without
            these times `max_ahead` cannot be judged.
    """

    name: str
    partitions: int
    created: bool
    append_times: bool


def create_topics(pipeline: Pipeline, bootstrap: str) -> list[Topic]:
    """Make the source topic of a pipeline, or the two of a join, unless there as declared.

    Args:
        pipeline: whose `source` names the topic and the number of its partitions.
        bootstrap: `host:port` of a broker.

    Returns:
        The topics of the pipeline, whether made now or found.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic exists with another number of partitions.
    """
    parts = pipeline.source.parts
    return [create_topic(bootstrap, part.topic, part.partitions) for part in parts]


def create_topic(bootstrap: str, name: str, partitions: int) -> Topic:
    """Make one topic, unless it exists with this number of partitions.

    A new topic keeps its records for ever (the log is what results are checked against) and takes
    the broker's own append time as the time of a record, which `max_ahead` is measured from.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic exists with another number of partitions.
    """
    with _broker(bootstrap), closing(_admin(bootstrap)) as admin:
        created = False
        if _partitions(admin, name) == 0:
            configs = {"message.timestamp.type": "LogAppendTime", "retention.ms": "-1"}
            wanted = {"num_partitions": partitions, "replication_factor": -1, "configs": configs}
            try:
                admin.create_topics({name: wanted}, wait_for_metadata=True)
                created = True
            except TopicAlreadyExistsError:
                pass  # Someone else was quicker; whether theirs fits is judged below.
        found = _partitions(admin, name)
        if found != partitions:
            message = (
                f"topic {name!r} has {found} partitions, the pipeline declares {partitions}: the "
                "set of partitions is fixed, because how a topic is partitioned decides which "
                f"records are late; {_way_out(name, found, partitions)}"
            )
            raise TopicError(message)
        return Topic(name, found, created, _append_times(admin, name))


def _way_out(name: str, found: int, declared: int) -> str:
    if found < declared:
        return "declare the number it has, or name another topic"
    return (
        f"if {name}/{declared} was added, let a run go on with it by `slackwater topics FILE "
        "--accept-partitions`; for a new run, declare the number it has"
    )


def end_offsets(bootstrap: str, topic: str) -> dict[int, int]:
    """Return, for each partition, the offset after the last settled record (read_committed).

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic does not exist.
    """
    with _broker(bootstrap), closing(reader(bootstrap)) as consumer:
        lanes = _lanes(consumer, bootstrap, topic)
        ends = consumer.end_offsets(lanes)
        return {lane.partition: ends[lane] for lane in lanes}


def lane_ends(bootstrap: str, source: Source, *, declared_only: bool = False) -> dict[int, int]:
    """Return, for each lane of a source by its number, the end of its partition.

    Args:
        bootstrap: `host:port` of a broker.
        source: of a pipeline.
        declared_only: pass over partitions that the pipeline does not declare.

    Raises:
        BrokerError: no broker answers.
        TopicError: a topic does not exist, or has partitions that the pipeline does not declare.
    """
    found: dict[int, int] = {}
    for part in source.parts:
        for partition, end in end_offsets(bootstrap, part.topic).items():
            number = source.number(part.topic, partition)
            if number is not None:
                found[number] = end
            elif not declared_only:
                raise TopicError(source.undeclared(f"{part.topic}/{partition}"))
    return found


def last_records(bootstrap: str, topic: str) -> dict[int, tuple[int, Any]]:
    """Return, for each partition, (offset after the last record, that record or None).

    The record is None if the partition is empty, or if the last offset before the end holds no
    record that a reader of committed records is given.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic does not exist.
    """
    with _broker(bootstrap), closing(reader(bootstrap)) as consumer:
        lanes = _lanes(consumer, bootstrap, topic)
        ends = consumer.end_offsets(lanes)
        found: dict[int, tuple[int, Any]] = {}
        for lane in lanes:
            record = _record_at(consumer, lane, ends[lane] - 1) if ends[lane] else None
            found[lane.partition] = (ends[lane], record)
        return found


def offsets_at(bootstrap: str, topic: str, at_us: int) -> dict[int, int]:
    """Return, for each partition, the first offset appended at a time or later, or its end.

    Args:
        bootstrap: `host:port` of a broker.
        topic: its name.
        at_us: microseconds since 1970, UTC; brokers keep milliseconds, so it is rounded up.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic does not exist.
    """
    with _broker(bootstrap), closing(reader(bootstrap)) as consumer:
        lanes = _lanes(consumer, bootstrap, topic)
        ends = consumer.end_offsets(lanes)
        found = consumer.offsets_for_times(dict.fromkeys(lanes, -(-at_us // 1000)))
        return {lane.partition: found[lane].offset if found[lane] else ends[lane] for lane in lanes}


def records_from(bootstrap: str, topic: str, partition: int, first: int, count: int) -> list[Any]:
    """Return the committed records of a partition whose offsets lie in `first` to `first + count`.

    Fewer come where the partition ends before, or its offsets have holes.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic does not exist.
    """
    with _broker(bootstrap), closing(reader(bootstrap)) as consumer:
        _lanes(consumer, bootstrap, topic)
        lane = TopicPartition(topic, partition)
        end = min(first + count, consumer.end_offsets([lane])[lane])
        consumer.assign([lane])
        consumer.seek(lane, first)
        found: list[Any] = []
        while consumer.position(lane) < end:
            found += consumer.poll(timeout_ms=500).get(lane, [])
        return [record for record in found if record.offset < end]


def delete_before(bootstrap: str, topic: str, partition: int, offset: int) -> int:
    """Delete a partition's records before an offset; gives where the partition begins now.

    Raises:
        BrokerError: no broker answers, or the offset lies beyond the partition's end.
    """
    lane = TopicPartition(topic, partition)
    with _broker(bootstrap), closing(_admin(bootstrap)) as admin:
        admin.delete_records({lane: offset})
    with _broker(bootstrap), closing(reader(bootstrap)) as consumer:
        return int(consumer.beginning_offsets([lane])[lane])


def add_partitions(bootstrap: str, topic: str, partitions: int) -> None:
    """Give a topic more partitions: so many, the old ones with them.

    Raises:
        BrokerError: no broker answers, or the topic is not there, or has as many already.
    """
    with _broker(bootstrap), closing(_admin(bootstrap)) as admin:
        admin.create_partitions({topic: partitions})


def allow_records_of(bootstrap: str, topic: str, bytes_: int) -> None:
    """Let a topic take records of so many bytes; brokers refuse more than a megabyte else.

    Raises:
        BrokerError: no broker answers.
    """
    limit = {"max.message.bytes": str(bytes_)}
    with _broker(bootstrap), closing(_admin(bootstrap)) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=limit)])


def await_broker(bootstrap: str) -> str:
    """Return `bootstrap` as soon as one of its addresses takes a connection.

    To be called before a client is made: a client of kafka-python whose constructor fails leaves
    a thread behind that tries for ever.

    Raises:
        BrokerError: it is no list of `host:port`, or nothing answers for `BOOTSTRAP_S`.
    """
    until_s = time.monotonic() + BOOTSTRAP_S
    addresses = [_address(bootstrap, one) for one in bootstrap.split(",")]
    while True:
        for address in addresses:
            try:
                socket.create_connection(address, timeout=2).close()
            except OSError as error:
                refused = error
            else:
                return bootstrap
        if time.monotonic() > until_s:
            raise BrokerError(
                f"no Kafka broker answers on {bootstrap} ({refused.strerror or refused}): start "
                "one with `slackwater up`, or correct the address"
            )
        time.sleep(0.2)


def reader(bootstrap: str) -> Any:
    """Return a consumer of committed records that joins no group and commits nothing.

    Raises:
        BrokerError: no broker answers.
    """
    return KafkaConsumer(
        bootstrap_servers=await_broker(bootstrap),
        isolation_level="read_committed",
        group_id=None,
        enable_auto_commit=False,
        allow_auto_create_topics=False,
    )


def broker_error(bootstrap: str, error: Exception) -> BrokerError:
    """Return one sentence for what a Kafka client raised, with a hint."""
    if isinstance(error, KafkaTimeoutError | KafkaConnectionError):
        return BrokerError(
            f"the Kafka broker on {bootstrap} does not answer ({type(error).__name__}): look at "
            "`slackwater status`, then try again"
        )
    return BrokerError(f"the Kafka broker on {bootstrap} refused: {type(error).__name__}: {error}")


def _address(bootstrap: str, one: str) -> tuple[str, int]:
    host, _, port = one.strip().rpartition(":")
    if not host or not port.isdecimal():
        raise BrokerError(
            f"{bootstrap!r} is no address of a Kafka broker: give host:port, such as 127.0.0.1:9092"
        )
    return host, int(port)


def _record_at(consumer: Any, lane: Any, offset: int) -> Any | None:
    consumer.assign([lane])
    consumer.seek(lane, offset)
    while consumer.position(lane) <= offset:
        for record in consumer.poll(timeout_ms=500, max_records=1).get(lane, []):
            return record if record.offset == offset else None
    return None


def _lanes(consumer: Any, bootstrap: str, topic: str) -> list[Any]:
    partitions = consumer.partitions_for_topic(topic)
    if not partitions:
        message = (
            f"topic {topic!r} does not exist on {bootstrap}: create it with "
            "`slackwater topics PIPELINE.yml`"
        )
        raise TopicError(message)
    return [TopicPartition(topic, partition) for partition in sorted(partitions)]


def _admin(bootstrap: str) -> Any:
    return KafkaAdminClient(bootstrap_servers=await_broker(bootstrap))


def _partitions(admin: Any, name: str) -> int:
    """Return the number of partitions; 0 if there is no such topic."""
    try:
        described = admin.describe_topics([name])
    except UnknownTopicOrPartitionError:
        return 0
    return sum(len(topic["partitions"]) for topic in described if topic["name"] == name)


def _append_times(admin: Any, name: str) -> bool:
    described = admin.describe_configs(
        [ConfigResource(ConfigResourceType.TOPIC, name)], config_filter="all"
    )
    return bool(described["topic"][name]["message.timestamp.type"]["value"] == "LogAppendTime")


@contextmanager
def _broker(bootstrap: str) -> Iterator[None]:
    """Turn what the client raises, when no broker is there, into one sentence."""
    try:
        yield
    except KafkaError as error:
        raise broker_error(bootstrap, error) from error
