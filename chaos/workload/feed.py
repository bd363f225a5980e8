"""The records for a run's topics in three parts: a body, a reserve for faults, and the ends."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from chaos.workload.kinds import Workload
from chaos.workload.records import WorkloadRecord
from jobs.brokers.producing import send_all
from jobs.brokers.topics import allow_records_of, create_topics
from jobs.datasets import flights, weather
from windowing.model import Pipeline

_END = b'{"end":true}'
_TAKEN_BYTES = 900_000
"""Maximum size of a record that every topic accepts; larger ones need a setting of the topic."""


@dataclass(frozen=True)
class Feed:
    """The records for a run's topics.

    Attributes:
        body: the beginning of the log, sent before the job starts.
        reserve: the rest of the log except for its ends, sent when a fault asks for it.
        ends: one per partition, sent after the last fault, since nothing may follow them.
    """

    body: Sequence[WorkloadRecord]
    reserve: Sequence[WorkloadRecord]
    ends: Sequence[WorkloadRecord]


def cut(log: Sequence[WorkloadRecord], pipeline: Pipeline, reserve: int = 0) -> Feed:
    """Split a log into body and reserve, and add the ends.

    The last `reserve` records are held back; each of the pipeline's partitions gets an end.
    """
    body = len(log) - reserve
    ends = [
        WorkloadRecord(part, partition, None, _END)
        for part, source in enumerate(pipeline.source.parts)
        for partition in range(source.partitions)
    ]
    return Feed(log[:body], log[body:], ends)


def departed(workload: Workload, pipeline: Pipeline) -> list[WorkloadRecord]:
    """Return the flights without their ends; for a join, both logs in order of arrival.

    For a join, the pipeline has two topics.

    Raises:
        FlightsError: the data set is missing.
    """
    if workload.data == "flights":
        logs = [flights.flights(workload.flights)]
    else:
        logs = list(weather.logs(workload.flights).values())
    found = [
        (append_us, WorkloadRecord(part, partition, value.encode(), None))
        for part, log in enumerate(logs[: len(pipeline.source.parts)])
        for append_us, partition, value, control in log.select(
            "append_us", "partition", "value", "control"
        ).iter_rows()
        if control is None
    ]
    if len(logs) > 1:
        found.sort(key=lambda at: at[0])
    return [sent for _, sent in found]


def in_its_lanes(part: Feed, pipeline: Pipeline, own: Pipeline) -> Feed:
    """Rename the lanes in a feed's control records for another topic.

    The feed is for the user's pipeline, and `own` is the same with a run's own topics.
    """
    names = {
        pipeline.source.lane(number): own.source.lane(number)
        for number in range(pipeline.source.partitions)
    }
    return replace(
        part,
        body=[_renamed(record, names) for record in part.body],
        reserve=[_renamed(record, names) for record in part.reserve],
    )


def _renamed(record: WorkloadRecord, names: dict[str, str]) -> WorkloadRecord:
    if record.control is None or b'"seen"' not in record.control:
        return record
    try:
        control = json.loads(record.control)
        seen = {names.get(lane, lane): at for lane, at in control["seen"].items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return record  # an invalid control, which becomes a dead letter anyway
    return replace(record, control=json.dumps({**control, "seen": seen}).encode())


def send_body(pipeline: Pipeline, bootstrap: str, part: Feed) -> int:
    """Create the pipeline's topics and send the body; return the number of records.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic already exists and belongs to something else.
    """
    create_topics(pipeline, bootstrap)
    largest = max((len(r.value or b"") for r in (*part.body, *part.reserve)), default=0)
    if largest > _TAKEN_BYTES:
        for source in pipeline.source.parts:
            allow_records_of(bootstrap, source.topic, 2 * largest)
    return _send(pipeline, bootstrap, part.body)


def send_reserve(
    pipeline: Pipeline, bootstrap: str, part: Feed, partitions: Collection[int]
) -> dict[int, int]:
    """Send the records held back for some partitions; return the number of records of each.

    Raises:
        BrokerError: no broker answers.
    """
    records = [record for record in part.reserve if record.partition in partitions]
    _send(pipeline, bootstrap, records)
    return dict(Counter(record.partition for record in records))


def send_ends(pipeline: Pipeline, bootstrap: str, part: Feed) -> int:
    """Send the ends; return their number.

    Raises:
        BrokerError: no broker answers.
    """
    return _send(pipeline, bootstrap, part.ends)


def _send(pipeline: Pipeline, bootstrap: str, records: Iterable[WorkloadRecord]) -> int:
    """Send records to the pipeline's topics, ignoring records for others."""
    records = list(records)
    sent = 0
    for number, source in enumerate(pipeline.source.parts):
        own = [record for record in records if record.part == number]
        sent += send_all(bootstrap, source.topic, _messages(own)) if own else 0
    return sent


def _messages(records: Iterable[WorkloadRecord]) -> Iterator[tuple[int, bytes, bytes | None]]:
    return ((one.partition, one.value or b"", one.control) for one in records)
