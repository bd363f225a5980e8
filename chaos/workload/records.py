"""A user's records, from EVENTS.jsonl or from a file with one value per line."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.readers.bounded_lines import LineTooLong, bounded_lines
from chaos.readers.log import EnvelopeError, EventsFileError, read_events
from windowing.model import Pipeline
from windowing.semantics.controls import read_control

_PLACE = {"source", "partition", "offset"}
_CONTENT = {"value", "raw", "control"}


@dataclass(frozen=True, slots=True)
class WorkloadRecord:
    """A record to be sent to a topic.

    Attributes:
        part: which of the source's topics, from 0; a join has two.
        partition: of that topic.
        value: the bytes; None for a control record and for a null value.
        control: the control header's bytes; None for every other record.
    """

    part: int
    partition: int
    value: bytes | None
    control: bytes | None

    @property
    def is_end(self) -> bool:
        """Whether it ends its partition."""
        return self.control is not None and read_control(self.control) == "end"


def read_records(
    file: Path, pipeline: Pipeline, *, partition_by: str | None = None
) -> Iterator[WorkloadRecord]:
    """Read a file's records, without the ends of partitions, which are sent last.

    Args:
        file: EVENTS.jsonl of the pipeline's own topics, whose offsets are replaced by the
            broker's; or one value per line.
        partition_by: field whose hash selects the partition of a value; None: partitions in turn.

    Raises:
        EventsFileError: the file cannot be read, or a line belongs to no lane of the pipeline.
    """
    if is_events(file):
        if partition_by is not None:
            msg = f"{file} says itself which partition a record is in: take partition_by out"
            raise EventsFileError(msg)
        found = _of_events(file, pipeline)
    elif not pipeline.one_topic:
        msg = (
            f"{file} has values, and of a join each must say of which topic it is: write "
            '{"source": …, "partition": …, "offset": …, "value": …}'
        )
        raise EventsFileError(msg)
    else:
        found = _of_values(file, pipeline.source.partitions, partition_by)
    return (record for record in found if not record.is_end)


def is_events(file: Path) -> bool:
    """Whether a file's lines are those of EVENTS.jsonl, by its first line.

    Raises:
        EventsFileError: the file cannot be read, or does not contain JSON objects.
    """
    for number, line in _lines(file):
        found = _object(line)
        if found is None:
            raise EnvelopeError(file, number, "neither a line of EVENTS.jsonl nor a JSON object")
        return found.keys() >= _PLACE and bool(found.keys() & _CONTENT)
    msg = f"{file} holds no record: give a file that does"
    raise EventsFileError(msg)


def _of_events(file: Path, pipeline: Pipeline) -> Iterator[WorkloadRecord]:
    source = pipeline.source
    topics = [part.topic for part in source.parts]
    for record in read_events(file, source):
        part = topics.index(record.source)
        yield WorkloadRecord(part, record.partition, record.value, record.control)


def _of_values(file: Path, partitions: int, partition_by: str | None) -> Iterator[WorkloadRecord]:
    for number, (_, line) in enumerate(_lines(file)):
        partition = number if partition_by is None else _hashed(line, partition_by)
        yield WorkloadRecord(0, partition % partitions, line, None)


def _hashed(line: bytes, field: str) -> int:
    """Hash the value of a field, in the same way on every machine."""
    value = (_object(line) or {}).get(field)
    return zlib.crc32(json.dumps(value, sort_keys=True).encode())


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the non-empty lines of a file with their numbers."""
    try:
        for number, line in bounded_lines(file):
            if content := line.strip():
                yield number, content
    except LineTooLong as error:
        raise EnvelopeError(file, error.line, "longer than any record may be") from error
    except OSError as error:
        msg = f"{file} cannot be read: {error.strerror}"
        raise EventsFileError(msg) from error


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
