"""The log as an independent witness sees it: every record, with nothing interpreted.

The checks compare what a job wrote with what the definition makes of the log, so the log has to be
read by a path that shares no code with the job. There are two: `read_topic` from a broker and
`read_events` from an EVENTS.jsonl file. Both yield the same `LogRecord`s for the same log.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from chaos.spelling import members
from jobs.topics import BrokerError, await_broker, broker_error
from windowing.spec.source import Source

CONTROL_HEADER: Final = "slackwater-control"
"""The Kafka header that makes a record a control record; its bytes are the control as JSON."""

_LOG_APPEND_TIME: Final = 1
_INT64_MAX: Final = 2**63 - 1


class LogError(RuntimeError):
    """The log cannot be read: no broker, no topic, no file, or no progress."""


class EnvelopeError(LogError):
    """A line of an EVENTS.jsonl file that is not an event.

    Attributes:
        path: the file.
        line: the number of the line, from 1.
    """

    def __init__(self, path: Path, line: int, problem: str) -> None:
        self.path = path
        self.line = line
        super().__init__(f"{path}:{line}: {problem}")


class LogRecord(msgspec.Struct, frozen=True, gc=False):
    """One record of the log; `(source, partition, offset)` is its identity.

    Attributes:
        source: the topic.
        partition: its number.
        offset: rises within a partition; may leave holes.
        value: the bytes still to be decoded; None for a control record and for a null value.
        control: the control header's bytes, JSON if it is sound; None for every other record.
        append_us: when the broker appended it, microseconds since the epoch; None if no broker
            says so (a topic with the producers' own times, a file without `append_us`).
    """

    source: str
    partition: int
    offset: int
    value: bytes | None
    control: bytes | None
    append_us: int | None


# --- from a broker ---------------------------------------------------------------------------


def committed_ends(bootstrap: str, topic: str) -> dict[int, int]:
    """Return, for each partition, the offset after the last one that is settled.

    It is the last stable offset: records of a transaction still open lie beyond it.

    Raises:
        LogError: no broker answers, or the topic does not exist.
    """
    with _reading(bootstrap) as consumer:
        lanes = _lanes(consumer, bootstrap, topic)
        ends = consumer.end_offsets(lanes)
        return {lane.partition: ends[lane] for lane in lanes}


def read_topic(
    bootstrap: str,
    topic: str,
    *,
    ends: Mapping[int, int] | None = None,
    stall_s: float = 30.0,
) -> Iterator[LogRecord]:
    """Yield the committed records of a topic, from each partition's beginning to its end.

    Joins no group and commits nothing, so that it leaves no trace on the broker. A partition is
    over when the reader's *position* reaches its end: the last offsets may be markers or aborted
    records, which are never delivered. Records of one partition come in offset order; how the
    partitions interleave means nothing.

    Args:
        bootstrap: `host:port` of a broker.
        topic: its name.
        ends: first offset not to be read, by partition; default: `committed_ends` now.
        stall_s: how long to wait, in seconds, while no partition moves.

    Raises:
        LogError: no broker answers, the topic or a partition does not exist, or an end is not
            reached although the reader waited `stall_s`.
    """
    with _reading(bootstrap) as consumer:
        lanes = _lanes(consumer, bootstrap, topic)
        if ends is None:
            current = consumer.end_offsets(lanes)
            ends = {lane.partition: current[lane] for lane in lanes}
        if absent := sorted(set(ends) - {lane.partition for lane in lanes}):
            message = f"topic {topic!r} has {len(lanes)} partitions, none of them {absent}"
            raise LogError(message)
        wanted = [lane for lane in lanes if lane.partition in ends]
        yield from _read_lanes(consumer, wanted, ends, stall_s)


def read_topics(bootstrap: str, source: Source) -> Iterator[LogRecord]:
    """Yield the committed records of a source: of a join, of its two topics, one after the other.

    Raises:
        LogError: as of `read_topic`.
    """
    for part in source.parts:
        yield from read_topic(bootstrap, part.topic)


def _read_lanes(
    consumer: Any, lanes: list[Any], ends: Mapping[int, int], stall_s: float
) -> Iterator[LogRecord]:
    """Poll until each lane's position has reached its end."""
    consumer.assign(lanes)
    consumer.seek_to_beginning(*lanes)
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
    control = _control([content for name, content in record.headers if name == CONTROL_HEADER])
    by_broker = record.timestamp_type == _LOG_APPEND_TIME
    return LogRecord(
        record.topic,
        record.partition,
        record.offset,
        record.value if control is None else None,
        control,
        record.timestamp * 1000 if by_broker else None,
    )


def _control(found: list[bytes | None]) -> bytes | None:
    """The control of a record by its headers of that name.

    One that is null is spelled `null`, several as a list of their texts: of no known shape both.
    """
    if len(found) > 1:
        texts = [None if one is None else one.decode("utf-8", "replace") for one in found]
        return json.dumps(texts, ensure_ascii=False).encode()
    if not found:
        return None
    return b"null" if found[0] is None else found[0]


@contextmanager
def _reading(bootstrap: str) -> Iterator[Any]:
    """A consumer that is closed afterwards, and whose failures are one sentence."""
    with closing(_consumer(bootstrap)) as consumer:
        try:
            yield consumer
        except KafkaError as error:
            raise _failed(bootstrap, error) from error


def _consumer(bootstrap: str) -> Any:
    try:
        return KafkaConsumer(
            bootstrap_servers=await_broker(bootstrap),
            isolation_level="read_committed",
            group_id=None,
            enable_auto_commit=False,
            allow_auto_create_topics=False,
            max_poll_records=10_000,
            fetch_max_bytes=64 << 20,
            max_partition_fetch_bytes=16 << 20,
        )
    except BrokerError as error:
        raise LogError(str(error)) from error
    except KafkaError as error:
        raise _failed(bootstrap, error) from error


def _lanes(consumer: Any, bootstrap: str, topic: str) -> list[Any]:
    partitions = consumer.partitions_for_topic(topic)
    if not partitions:
        message = f"topic {topic!r} does not exist on {bootstrap}: create it, or correct its name"
        raise LogError(message)
    return [TopicPartition(topic, partition) for partition in sorted(partitions)]


def _failed(bootstrap: str, error: KafkaError) -> LogError:
    return LogError(str(broker_error(bootstrap, error)))


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


# --- from a file -----------------------------------------------------------------------------


_ABSENT: Final = msgspec.Raw(b"")


class _Envelope(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One line of EVENTS.jsonl. Raw keeps spelling: 5000.0 is not 5000, 1e400 stays 1e400."""

    source: str
    partition: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    offset: Annotated[int, msgspec.Meta(ge=0, le=_INT64_MAX)]
    value: msgspec.Raw = _ABSENT
    raw: msgspec.Raw = _ABSENT
    control: msgspec.Raw = _ABSENT
    append_us: (
        Annotated[int, msgspec.Meta(ge=-_INT64_MAX - 1, le=_INT64_MAX)] | msgspec.UnsetType
    ) = msgspec.UNSET


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)


def read_events(path: str | Path) -> Iterator[LogRecord]:
    """Yield the records of an EVENTS.jsonl file in the order of its lines.

    A value keeps its bytes as they are spelled in the line, whatever they hold; `raw` text is
    encoded as UTF-8, a lone surrogate as the three bytes that no UTF-8 decoder accepts.

    Raises:
        EnvelopeError: a line is not an object with `source`, `partition`, `offset`, exactly one of
            `value`, `raw` and `control`, and at most `append_us` besides.
        LogError: the file cannot be opened.
    """
    file = Path(path)
    decode = _ENVELOPE.decode
    try:
        lines = file.open("rb")
    except OSError as error:
        message = f"cannot read the events file {file}: {error.strerror}"
        raise LogError(message) from error
    with lines:
        for number, line in enumerate(lines, 1):
            try:
                envelope = decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                envelope = _tolerant(line, file, number, error)
            content, control = _content(envelope, file, number)
            append_us = envelope.append_us
            yield LogRecord(
                envelope.source,
                envelope.partition,
                envelope.offset,
                content,
                control,
                None if append_us is msgspec.UNSET else append_us,
            )


def _content(envelope: _Envelope, file: Path, number: int) -> tuple[bytes | None, bytes | None]:
    """Return (value, control)."""
    value, raw, control = envelope.value, envelope.raw, envelope.control
    if (value is not _ABSENT) + (raw is not _ABSENT) + (control is not _ABSENT) != 1:
        problem = 'exactly one of "value", "raw" and "control" must be given'
        raise EnvelopeError(file, number, problem)
    if value is not _ABSENT:
        return bytes(value), None
    if control is not _ABSENT:
        # Whatever it is: one of no known shape is a dead letter, and no broken line.
        return None, bytes(control)
    spelled = bytes(raw)
    if not spelled.startswith(b'"'):
        problem = f'"raw" must be a string, not {_short(spelled)}'
        raise EnvelopeError(file, number, problem)
    return _text(spelled, file, number), None


def _text(spelled: bytes, file: Path, number: int) -> bytes:
    try:
        text: str = json.loads(spelled)
    except ValueError as error:
        problem = f'"raw" is not a string of JSON: {error}'
        raise EnvelopeError(file, number, problem) from error
    return text.encode("utf-8", "surrogatepass")


_NAMED: Final = {"source", "partition", "offset", "append_us"}


def _tolerant(line: bytes, file: Path, number: int, reason: Exception) -> _Envelope:
    """Read a line whose envelope may be sound although the strict decoder refused it.

    A lone surrogate, a NaN or a byte that is no UTF-8 inside the value makes a bad value, which is
    a dead letter; only a broken envelope stops the run.
    """
    if isinstance(reason, msgspec.ValidationError):
        raise EnvelopeError(file, number, str(reason)) from reason
    text = line.decode("utf-8", "surrogateescape")
    try:
        pieces = members(text)
        outer = b",".join(
            json.dumps(name).encode() + b":" + pieces[name].encode()
            for name in pieces
            if name in _NAMED
        )
        inner = {
            name: msgspec.Raw(spelled.encode("utf-8", "surrogateescape"))
            for name, spelled in pieces.items()
            if name not in _NAMED
        }
        envelope = _ENVELOPE.decode(b"{" + outer + b"}")
        if unknown := set(inner) - {"value", "raw", "control"}:
            problem = f"unknown field {sorted(unknown)[0]!r}"
            raise EnvelopeError(file, number, problem)
    except (ValueError, RecursionError) as error:
        closer = error if isinstance(error, msgspec.ValidationError) else reason
        problem = f"not an event: {closer}"
        raise EnvelopeError(file, number, problem) from error
    return msgspec.structs.replace(envelope, **inner)


def _short(spelled: bytes) -> str:
    text = spelled.decode("utf-8", "replace")
    return text if len(text) <= 40 else text[:40] + "…"
