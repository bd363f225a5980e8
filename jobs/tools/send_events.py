"""Sends a file of events to a pipeline's topics, skipping what a topic already holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from kafka.partitioner.default import murmur2

from jobs.brokers.producing import Message, control_of, send_all
from jobs.brokers.topics import TopicError, create_topics, last_records
from windowing.engine.reading.batches import Entry
from windowing.model import Pipeline
from windowing.model.metadata import Metadata, metadata_of


@dataclass(frozen=True)
class TopicCounts:
    """The result for the events of one topic.

    Attributes:
        records: number of the file's records for it.
        appended: number of them appended now; the others existed already.
    """

    topic: str
    records: int
    appended: int


KeyOf = Callable[[Entry], bytes | None]
"""The key that a record is to have on its topic."""


def send_events(
    pipeline: Pipeline,
    bootstrap: str,
    entries: Iterable[Entry],
    progress: Callable[[int], None] | None = None,
    key_of: KeyOf | None = None,
) -> list[TopicCounts]:
    """Make a pipeline's topics hold a log, each record once, however often this is called.

    Missing topics are created. Records keep their order within a partition; the broker renumbers
    them, from 0 and without gaps.

    Args:
        entries: the log, checked: of the pipeline's lanes, in order.
        progress: called periodically with the number of records sent to a topic.
        key_of: keys, by which records are placed in partitions; None: the entries say theirs.

    Raises:
        BrokerError: no broker answers, or it refuses.
        TopicError: a topic has other partitions, or holds something else.
    """
    create_topics(pipeline, bootstrap)
    logs: dict[str, dict[int, list[Entry]]] = {part.topic: {} for part in pipeline.source.parts}
    place = _places(pipeline, key_of)
    for entry in entries:
        lane = logs[entry.source].setdefault(place(entry), [])
        if not lane or entry.offset > lane[-1].offset:  # else a redelivery, which has no effect
            lane.append(entry)
    return [_send(bootstrap, topic, lanes, progress, key_of) for topic, lanes in logs.items()]


def append_events(
    pipeline: Pipeline,
    bootstrap: str,
    entries: Iterable[Entry],
    progress: Callable[[int], None] | None = None,
    key_of: KeyOf | None = None,
) -> list[TopicCounts]:
    """Append a log to a pipeline's topics, whatever they hold; each call does so again.

    Args: as of `send_events`; entries are sent as they come, those of one topic after another.

    Raises:
        BrokerError: no broker answers, or it refuses.
        TopicError: a topic has other partitions.
    """
    create_topics(pipeline, bootstrap)
    place, log, found = _places(pipeline, key_of), iter(entries), list[TopicCounts]()
    aside: dict[str, list[Entry]] = {part.topic: [] for part in pipeline.source.parts}
    for topic, own in aside.items():

        def messages(topic: str = topic, own: list[Entry] = own) -> Iterator[Message]:
            for entry in chain(own, log):
                if entry.source == topic:
                    yield _message(place(entry), entry, key_of)
                else:
                    aside[entry.source].append(entry)

        sent = send_all(bootstrap, topic, messages(), progress)
        found.append(TopicCounts(topic, sent, sent))
    return found


def _places(pipeline: Pipeline, key_of: KeyOf | None) -> Callable[[Entry], int]:
    """Return what says in which partition a record belongs; one without a key in the first."""
    if key_of is None:
        return lambda entry: entry.partition
    partitions = {part.topic: part.partitions for part in pipeline.source.parts}

    def by_key(entry: Entry) -> int:
        key = key_of(entry)
        return 0 if key is None else (murmur2(key) & 0x7FFFFFFF) % partitions[entry.source]

    return by_key


def _message(partition: int, entry: Entry, key_of: KeyOf | None) -> Message:
    metadata = metadata_of(entry) if key_of is None else Metadata(key_of(entry))
    return partition, entry.value, entry.control, metadata


def _send(
    bootstrap: str,
    topic: str,
    lanes: dict[int, list[Entry]],
    progress: Callable[[int], None] | None,
    key_of: KeyOf | None,
) -> TopicCounts:
    ends = last_records(bootstrap, topic)
    for partition, (end, record) in ends.items():
        _check_held(topic, partition, end, record, lanes.get(partition, []))
    missing = [
        _message(partition, entry, key_of)
        for partition, entries in sorted(lanes.items())
        for entry in entries[ends[partition][0] :]
    ]
    if missing:
        send_all(bootstrap, topic, missing, progress)
    return TopicCounts(topic, sum(map(len, lanes.values())), len(missing))


def _check_held(topic: str, partition: int, end: int, record: Any, entries: list[Entry]) -> None:
    """Check that a partition is empty, or holds a prefix of what is to be sent.

    Raises:
        TopicError: it holds something else.
    """
    if end == 0:
        return
    if end <= len(entries) and record is not None:
        expected = entries[end - 1]
        same_value = (record.value or None) == (expected.value or None)
        if same_value and control_of(record.headers) == expected.control:
            return
    lane = f"{topic}/{partition}"
    if end > len(entries):
        what = f"{lane} ends at {end}, and the file has {len(entries)} records for it"
    else:
        what = f"the last record of {lane}, at offset {end - 1}, is not the file's"
    if record is not None and control_of(record.headers) is not None:
        what += (
            f"; offset {end - 1} is a control record, as `queries` and `heartbeat` send them: they "
            "take offsets, too"
        )
    msg = (
        f"topic {topic!r} holds other records than the file: {what}; `send` makes a topic hold a "
        "file as a whole: get what it holds by `slackwater record FILE --output EVENTS.jsonl`, add "
        "the new records at the end of that file, their offsets counting on, and send that, or "
        "send to a new topic"
    )
    raise TopicError(msg)
