"""Read the log independently of the job: every record, without interpretation.

The checks compare what a job wrote with the definition's result for the log, so the log must be
read by code that is independent of the job. `chaos.readers.topic` reads from a broker,
`read_events` from an EVENTS.jsonl file; both yield the same `LogRecord`s for the same log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from chaos.readers.bounded_lines import LINE_BYTES_MAX, LineTooLong, bounded_lines
from chaos.readers.envelope import read_line
from chaos.readers.lane_order import LaneOrder
from windowing.model.metadata import NO_METADATA, Metadata
from windowing.model.source import Source


class LogError(RuntimeError):
    """A log that cannot be read: no broker, no topic, no file, or no progress."""

    exit_code = 1


class EventsFileError(LogError):
    """An EVENTS.jsonl file that cannot be read."""

    exit_code = 2


class EnvelopeError(EventsFileError):
    """A line of an EVENTS.jsonl file that is not an event, or contradicts another one.

    Attributes:
        line: the number of the line, from 1.
        problem: what is wrong with it.
    """

    def __init__(self, path: Path, line: int, problem: str) -> None:
        self.path = path
        self.line = line
        self.problem = problem
        super().__init__(f"{path}:{line}: {problem}")


class LogRecord(msgspec.Struct, frozen=True, gc=False):
    """One record of the log; `(source, partition, offset)` is its identity.

    Attributes:
        source: the topic.
        offset: increases within a partition, perhaps with gaps.
        value: the undecoded bytes; None for a control record and for a null value.
        control: the control header's bytes, which should be JSON, with those of its signature
            (`windowing.model.control.sealed`); None for every other record.
        append_us: the broker's append time, in microseconds since the epoch; None if unknown (a
            topic with the producers' own times, a file without `append_us`).
        metadata: its key, time and headers.
    """

    source: str
    partition: int
    offset: int
    value: bytes | None
    control: bytes | None
    append_us: int | None
    metadata: Metadata = NO_METADATA


def up_to(
    source: Source, log: Iterable[LogRecord], ends: Mapping[int, int] | None
) -> Iterator[LogRecord]:
    """Yield the records of a log before some offsets.

    Args:
        ends: first offset to leave out, by lane, each of them; None: nothing is left out.
    """
    for record in log:
        lane = source.number(record.source, record.partition)
        if ends is None or lane is None or record.offset < ends.get(lane, 0):
            yield record


def behind(
    source: Source, log: Iterable[LogRecord], first: Mapping[int, int] | None
) -> Iterator[LogRecord]:
    """Yield the records that a run reads, from its first offsets on.

    Args:
        first: first offset that the run reads, by lane; None, or a missing lane: from its start.
    """
    for record in log:
        lane = source.number(record.source, record.partition)
        if not first or lane is None or record.offset >= first.get(lane, 0):
            yield record


def read_events(
    path: str | Path,
    source: Source | None = None,
    *,
    again: bool = False,
    order: LaneOrder | None = None,
) -> Iterator[LogRecord]:
    """Yield the records of an EVENTS.jsonl file in the order of its lines, each of them once.

    A value keeps its bytes exactly as they are in the line; `raw` text is encoded as UTF-8, a lone
    surrogate as the three bytes that no UTF-8 decoder accepts. `chaos.readers.lane_order` detects
    redeliveries and contradictions.

    Args:
        source: the source whose log it must be; None: any topics.
        again: whether to yield redelivered records again.
        order: counts the redeliveries.

    Raises:
        EnvelopeError: a line is not an object with `source`, `partition`, `offset`, exactly one of
            `value`, `raw` and `control`, and optionally `append_us`, `key`, `timestamp_us` and
            `headers`; or belongs to a lane that the source does not have; or goes back in its lane
            without being a redelivery.
        EventsFileError: the file cannot be read.
    """
    file, order = Path(path), LaneOrder() if order is None else order
    for number, line in _lines(file):
        try:
            record = _record(line, source)
            if source is not None:
                _check_lane(record, source)
            new = order.is_new(record)
        except ValueError as error:
            raise EnvelopeError(file, number, str(error)) from error
        if new or again:
            yield record


def _record(line: bytes, source: Source | None) -> LogRecord:
    """Read a line; who gives a file of something else needs to see what a line looks like."""
    try:
        return LogRecord(*read_line(line))
    except ValueError as error:
        topic = "TOPIC" if source is None else source.parts[0].topic
        form = f'{{"source": "{topic}", "partition": 0, "offset": 0, "value": {{…}}}}'
        msg = f'{error}; a line is {form}, or has "raw" or "control" in place of "value"'
        raise ValueError(msg) from error


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers; reject lines longer than any record."""
    try:
        yield from bounded_lines(file)
    except LineTooLong as error:
        problem = f"longer than {LINE_BYTES_MAX >> 20} MiB, which no record may be"
        raise EnvelopeError(file, error.line, problem) from error
    except OSError as error:
        message = f"cannot read the events file {file}: {error.strerror}"
        raise EventsFileError(message) from error


def _check_lane(record: LogRecord, source: Source) -> None:
    if source.number(record.source, record.partition) is None:
        raise ValueError(source.refusal(record.source, record.partition))
