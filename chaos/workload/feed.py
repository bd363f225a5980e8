"""What is sent to a run's topics, and when: a body, a reserve for faults, and the ends."""

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
"""Of a record that any topic takes; larger ones must be allowed."""


@dataclass(frozen=True)
class Feed:
    """What is sent to a run's topics, and when.

    Attributes:
        body: the beginning of the log; sent before the job starts.
        reserve: the rest of it but for its ends; sent when a fault wants it, or never begun.
        ends: one per partition; sent after the last fault, since nothing may follow them.
    """

    body: Sequence[WorkloadRecord]
    reserve: Sequence[WorkloadRecord]
    ends: Sequence[WorkloadRecord]


def cut(log: Sequence[WorkloadRecord], pipeline: Pipeline, reserve: int = 0) -> Feed:
    """Cut a log into what comes first and a reserve, and put the ends behind it.

    Args:
        log: the records, in the order in which they are sent.
        pipeline: whose partitions get an end each.
        reserve: how many records are held back, the last ones.
    """
    body = len(log) - reserve
    ends = [
        WorkloadRecord(part, partition, None, _END)
        for part, source in enumerate(pipeline.source.parts)
        for partition in range(source.partitions)
    ]
    return Feed(log[:body], log[body:], ends)


def departed(workload: Workload, pipeline: Pipeline) -> list[WorkloadRecord]:
    """The flights without their ends; of a join, both logs in the order of their arrival.

    Args:
        workload: how many, and of which kind.
        pipeline: reads one topic of them, or two.

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
    """A feed whose control records call the lanes by the names that they have in another topic.

    Args:
        part: the feed.
        pipeline: as the user has it.
        own: the same with topics of a run's own.
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
        return record  # of no known shape: a dead letter by any name
    return replace(record, control=json.dumps({**control, "seen": seen}).encode())


def send_body(pipeline: Pipeline, bootstrap: str, part: Feed) -> int:
    """Make the pipeline's topics and send the body; gives the number of records.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic exists and is another's.
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
    """Send what was held back for some partitions; gives the number of records of each.

    Raises:
        BrokerError: no broker answers.
    """
    records = [record for record in part.reserve if record.partition in partitions]
    _send(pipeline, bootstrap, records)
    return dict(Counter(record.partition for record in records))


def send_ends(pipeline: Pipeline, bootstrap: str, part: Feed) -> int:
    """Send the ends; gives their number.

    Raises:
        BrokerError: no broker answers.
    """
    return _send(pipeline, bootstrap, part.ends)


def _send(pipeline: Pipeline, bootstrap: str, records: Iterable[WorkloadRecord]) -> int:
    """Send records to the topics that the pipeline reads; of others, none are sent."""
    records = list(records)
    sent = 0
    for number, source in enumerate(pipeline.source.parts):
        own = [record for record in records if record.part == number]
        sent += send_all(bootstrap, source.topic, _messages(own)) if own else 0
    return sent


def _messages(records: Iterable[WorkloadRecord]) -> Iterator[tuple[int, bytes, bytes | None]]:
    return ((one.partition, one.value or b"", one.control) for one in records)
