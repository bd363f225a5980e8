"""Topics: creating them as a pipeline declares them, and finding their ends."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import TopicAlreadyExistsError

from jobs.brokers.broker import admin, consumer, described, hidden_topic, refusals
from windowing.model.source import Source

if TYPE_CHECKING:
    from windowing.model import Pipeline

_SETTLED_S = 10.0
"""By then a broker has heard of what its controller has decided."""


class TopicError(RuntimeError):
    """A topic that does not match the pipeline."""

    exit_code = 1


@dataclass(frozen=True)
class Topic:
    """A topic on the broker.

    Attributes:
        created: whether this call created it.
    """

    name: str
    partitions: int
    created: bool


def create_topics(pipeline: Pipeline, bootstrap: str) -> list[Topic]:
    """Create the source topic of a pipeline, or the two of a join, unless they exist as declared.

    Args:
        pipeline: its `source` names the topic and the number of partitions.

    Returns:
        The topics of the pipeline, whether created or found.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic exists with another number of partitions.
    """
    parts = pipeline.source.parts
    return [create_topic(bootstrap, part.topic, part.partitions) for part in parts]


def create_topic(bootstrap: str, name: str, partitions: int) -> Topic:
    """Create one topic, unless it exists with this number of partitions.

    A new topic keeps its records forever (results are checked against the log), and records get the
    broker's own append time, which `max_ahead` is measured from.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic exists with another number of partitions.
    """
    with refusals(bootstrap, "create", name), closing(admin(bootstrap)) as client:
        created = False
        if _partitions(client, bootstrap, name) == 0:
            configs = {"message.timestamp.type": "LogAppendTime", "retention.ms": "-1"}
            wanted = {"num_partitions": partitions, "replication_factor": -1, "configs": configs}
            try:
                client.create_topics({name: wanted}, wait_for_metadata=True)
                created = True
            except TopicAlreadyExistsError:
                pass  # Someone else created it first; whether it fits is checked below.
        found = _partitions(client, bootstrap, name)
        if found != partitions:
            message = (
                f"topic {name!r} has {found} partitions, the pipeline declares {partitions}: the "
                "set of partitions is fixed, because how a topic is partitioned decides which "
                f"records are late; {_way_out(name, found, partitions)}"
            )
            raise TopicError(message)
        return Topic(name, found, created)


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
    with refusals(bootstrap, "describe", topic), closing(consumer(bootstrap)) as reader:
        lanes = _lanes(reader, bootstrap, topic)
        ends = reader.end_offsets(lanes)
        return {lane.partition: ends[lane] for lane in lanes}


def lane_ends(bootstrap: str, source: Source, *, declared_only: bool = False) -> dict[int, int]:
    """Return, for each lane of a source by its number, the end of its partition.

    Args:
        declared_only: ignore partitions that the pipeline does not declare.

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
    record that a reader of committed records sees.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic does not exist.
    """
    with refusals(bootstrap, "read", topic), closing(consumer(bootstrap)) as reader:
        lanes = _lanes(reader, bootstrap, topic)
        ends = reader.end_offsets(lanes)
        found: dict[int, tuple[int, Any]] = {}
        for lane in lanes:
            record = _record_at(reader, lane, ends[lane] - 1) if ends[lane] else None
            found[lane.partition] = (ends[lane], record)
        return found


def offsets_at(bootstrap: str, topic: str, at_us: int) -> dict[int, int]:
    """Return, for each partition, the first offset appended at a time or later, or its end.

    Args:
        at_us: microseconds since 1970, UTC; brokers keep milliseconds, so it is rounded up.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic does not exist.
    """
    with refusals(bootstrap, "describe", topic), closing(consumer(bootstrap)) as reader:
        lanes = _lanes(reader, bootstrap, topic)
        ends = reader.end_offsets(lanes)
        found = reader.offsets_for_times(dict.fromkeys(lanes, -(-at_us // 1000)))
        return {lane.partition: found[lane].offset if found[lane] else ends[lane] for lane in lanes}


def records_from(bootstrap: str, topic: str, partition: int, first: int, count: int) -> list[Any]:
    """Return the committed records of a partition whose offsets lie in `first` to `first + count`.

    Returns fewer if the partition ends earlier, or if its offsets have gaps.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic does not exist.
    """
    with refusals(bootstrap, "read", topic), closing(consumer(bootstrap)) as reader:
        _lanes(reader, bootstrap, topic)
        lane = TopicPartition(topic, partition)
        end = min(first + count, reader.end_offsets([lane])[lane])
        reader.assign([lane])
        reader.seek(lane, first)
        found: list[Any] = []
        while reader.position(lane) < end:
            found += reader.poll(timeout_ms=500).get(lane, [])
        return [record for record in found if record.offset < end]


def delete_before(bootstrap: str, topic: str, partition: int, offset: int) -> int:
    """Delete a partition's records before an offset; return where the partition begins now.

    Raises:
        BrokerError: no broker answers, or the offset lies beyond the partition's end.
    """
    lane = TopicPartition(topic, partition)
    with refusals(bootstrap, "delete", topic), closing(admin(bootstrap)) as client:
        client.delete_records({lane: offset})
    with refusals(bootstrap, "describe", topic), closing(consumer(bootstrap)) as reader:
        return int(reader.beginning_offsets([lane])[lane])


def add_partitions(bootstrap: str, topic: str, partitions: int) -> None:
    """Raise a topic's number of partitions to this total, and wait until the broker says so.

    Raises:
        BrokerError: no broker answers, or the topic does not exist, or already has as many.
    """
    with refusals(bootstrap, "alter", topic), closing(admin(bootstrap)) as client:
        client.create_partitions({topic: partitions})
        until = time.monotonic() + _SETTLED_S
        while _partitions(client, bootstrap, topic) < partitions and time.monotonic() < until:
            time.sleep(0.05)


def allow_records_of(bootstrap: str, topic: str, bytes_: int) -> None:
    """Let a topic accept records of this many bytes; otherwise brokers reject records over 1 MB.

    Raises:
        BrokerError: no broker answers.
    """
    limit = {"max.message.bytes": str(bytes_)}
    with refusals(bootstrap, "alterConfigs", topic), closing(admin(bootstrap)) as client:
        client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=limit)])


def _record_at(reader: Any, lane: Any, offset: int) -> Any | None:
    reader.assign([lane])
    reader.seek(lane, offset)
    while reader.position(lane) <= offset:
        for record in reader.poll(timeout_ms=500, max_records=1).get(lane, []):
            return record if record.offset == offset else None
    return None


def _lanes(reader: Any, bootstrap: str, topic: str) -> list[Any]:
    partitions = reader.partitions_for_topic(topic)
    if not partitions:
        raise TopicError(hidden_topic(bootstrap, topic))
    return [TopicPartition(topic, partition) for partition in sorted(partitions)]


def _partitions(client: Any, bootstrap: str, name: str) -> int:
    """Return the number of partitions; 0 if the topic does not exist."""
    with refusals(bootstrap, "describe", name):
        return len(described(client, [name]).get(name, {}).get("partitions", ()))
