"""Read the log from a broker: every committed record, without interpretation."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Final

from kafka import TopicPartition
from kafka.errors import KafkaError

from chaos.readers.log import LogError, LogRecord
from jobs.brokers.broker import BrokerError, broker_error, hidden_topic
from jobs.brokers.broker import consumer as make_consumer
from windowing.model.control import (
    CONTROL_HEADER,
    COUNTER_HEADER,
    SIGNATURE_HEADER,
    sealed,
)
from windowing.model.metadata import NO_METADATA, Metadata
from windowing.model.source import Source

_LOG_APPEND_TIME: Final = 1


def committed_ends(bootstrap: str, topic: str) -> dict[int, int]:
    """Return the last stable offset of each partition.

    Records of open transactions lie beyond it.

    Raises:
        LogError: no broker answers, or the topic does not exist.
    """
    with _reading(bootstrap, topic) as consumer:
        lanes = _lanes(consumer, bootstrap, topic)
        ends = consumer.end_offsets(lanes)
        return {lane.partition: ends[lane] for lane in lanes}


def read_topic(
    bootstrap: str,
    topic: str,
    *,
    begins: Mapping[int, int] | None = None,
    ends: Mapping[int, int] | None = None,
    stall_s: float = 30.0,
) -> Iterator[LogRecord]:
    """Yield the committed records of a topic, from each partition's beginning to its end.

    The consumer joins no group and commits nothing, so it leaves no trace on the broker. A
    partition is finished when the consumer's *position* reaches its end: the last offsets may be
    markers or aborted records, which are never delivered. Records of one partition come in offset
    order; the partitions interleave arbitrarily.

    Args:
        bootstrap: `host:port` of a broker.
        begins: first offset to read, by partition; default: the partition's beginning.
        ends: first offset not to read, by partition; default: `committed_ends` now.
        stall_s: how long to wait while no partition makes progress, in seconds.

    Raises:
        LogError: no broker answers, the topic or a partition does not exist, or no record came
            for `stall_s` before an end was reached.
    """
    with _reading(bootstrap, topic) as consumer:
        lanes = _lanes(consumer, bootstrap, topic)
        if ends is None:
            current = consumer.end_offsets(lanes)
            ends = {lane.partition: current[lane] for lane in lanes}
        if absent := sorted(set(ends) - {lane.partition for lane in lanes}):
            message = f"topic {topic!r} has {len(lanes)} partitions, none of them {absent}"
            raise LogError(message)
        wanted = [lane for lane in lanes if lane.partition in ends]
        yield from _read_lanes(consumer, wanted, begins or {}, ends, stall_s)


def read_topics(
    bootstrap: str,
    source: Source,
    first: Mapping[int, int] | None = None,
    ends: Mapping[int, int] | None = None,
) -> Iterator[LogRecord]:
    """Yield the committed records of a source, for a join one topic after the other.

    Args:
        bootstrap: `host:port` of a broker.
        first: first offset to read, by lane; None, or a missing lane: from its beginning.
        ends: first offset not to read, by lane, each of them; None: `committed_ends` now.

    Raises:
        LogError: as `read_topic`.
    """
    for part in source.parts:
        yield from read_topic(
            bootstrap,
            part.topic,
            begins=_of_topic(source, part.topic, first or {}),
            ends=None if ends is None else _of_topic(source, part.topic, ends),
        )


def _of_topic(source: Source, topic: str, offsets: Mapping[int, int]) -> dict[int, int]:
    placed = ((source.place(lane), offset) for lane, offset in offsets.items())
    return {partition: at for (part, partition), at in placed if part.topic == topic}


def _read_lanes(
    consumer: Any,
    lanes: list[Any],
    begins: Mapping[int, int],
    ends: Mapping[int, int],
    stall_s: float,
) -> Iterator[LogRecord]:
    consumer.assign(lanes)
    consumer.seek_to_beginning(*lanes)
    for lane in lanes:
        if begins.get(lane.partition, 0) > consumer.position(lane):
            consumer.seek(lane, begins[lane.partition])
    positions = {lane: consumer.position(lane) for lane in lanes}
    still = {lane for lane in lanes if positions[lane] < ends[lane.partition]}
    consumer.pause(*(lane for lane in lanes if lane not in still))
    moved_s = time.monotonic()
    while still:
        for lane, records in consumer.poll(timeout_ms=500).items():
            end = ends[lane.partition]
            for record in records:
                if record.offset < end:
                    yield _from_kafka(record)
        for lane in list(still):
            position = consumer.position(lane)
            if position != positions[lane]:
                positions[lane] = position
                moved_s = time.monotonic()
            if position >= ends[lane.partition]:
                still.remove(lane)
                consumer.pause(lane)
        if still and time.monotonic() - moved_s > stall_s:
            raise LogError(_stalled(still, positions, ends, stall_s))


def _from_kafka(record: Any) -> LogRecord:
    control = _control(record.headers)
    by_broker = record.timestamp_type == _LOG_APPEND_TIME
    return LogRecord(
        record.topic,
        record.partition,
        record.offset,
        record.value if control is None else None,
        control,
        record.timestamp * 1000 if by_broker else None,
        NO_METADATA if control is not None else _metadata(record),
    )


def _metadata(record: Any) -> Metadata:
    time_us = None if record.timestamp < 0 else record.timestamp * 1000
    return Metadata(record.key, time_us, tuple(record.headers))


def _control(headers: Iterable[tuple[str, bytes | None]]) -> bytes | None:
    """Return the control of a record from its headers.

    A null header becomes `null`, several become a list of their texts; neither is a valid control.
    Of the headers of a signature, one that is null or stands twice signs nothing.
    """
    of_name: dict[str, list[bytes | None]] = {}
    for name, content in headers:
        of_name.setdefault(name, []).append(content)
    found = of_name.get(CONTROL_HEADER, [])
    if len(found) > 1:
        texts = [None if one is None else one.decode("utf-8", "replace") for one in found]
        return json.dumps(texts, ensure_ascii=False).encode()
    if not found:
        return None
    if found[0] is None:
        return b"null"
    signed, counter = (
        own[0] if len(own := of_name.get(name, [])) == 1 else None
        for name in (SIGNATURE_HEADER, COUNTER_HEADER)
    )
    return sealed(found[0], signed, counter)


@contextmanager
def _reading(bootstrap: str, topic: str) -> Iterator[Any]:
    try:
        made = make_consumer(
            bootstrap,
            max_poll_records=10_000,
            fetch_max_bytes=64 << 20,
            max_partition_fetch_bytes=16 << 20,
        )
    except BrokerError as error:
        raise LogError(str(error)) from error
    with closing(made) as consumer:
        try:
            yield consumer
        except KafkaError as error:
            raise LogError(str(broker_error(bootstrap, error, "read", topic))) from error


def _lanes(consumer: Any, bootstrap: str, topic: str) -> list[Any]:
    partitions = consumer.partitions_for_topic(topic)
    if not partitions:
        raise LogError(hidden_topic(bootstrap, topic))
    return [TopicPartition(topic, partition) for partition in sorted(partitions)]


def _stalled(
    still: set[Any], positions: Mapping[Any, int], ends: Mapping[int, int], stall_s: float
) -> str:
    lanes = ", ".join(
        f"{lane.topic}/{lane.partition} stands at {positions[lane]} of {ends[lane.partition]}"
        for lane in sorted(still)
    )
    return (
        f"nothing came for {stall_s:g} s: {lanes}; "
        "is the broker down, or does the end lie in an open transaction?"
    )
