"""Plain rows as a log: files in which each row is a value, with no lane and no offset.

They are one lane of a topic, whose offsets count the rows from 0. What a row holds is for the
pipeline to judge: a bad value is a dead letter, as on a topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from chaos.readers.bounded_lines import LINE_BYTES_MAX, LineTooLong, bounded_lines
from chaos.readers.lane_order import LaneOrder
from chaos.readers.log import EnvelopeError, EventsFileError, LogRecord, read_events
from windowing.model.errors import meant_or_known
from windowing.model.source import Source

PARQUET: Final = ".parquet"
_CSV: Final = (".csv", ".tsv")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def read_input(
    path: Path,
    source: Source,
    topic: str | None,
    *,
    again: bool = False,
    order: LaneOrder | None = None,
) -> Iterator[LogRecord]:
    """Yield the records of a user's file: events, or plain rows.

    Args:
        topic: whose rows they are; None: each line says by itself where its record belongs.
        again: whether to yield events that are redelivered again.
        order: counts the redeliveries among events.

    Raises:
        EventsFileError: it cannot be read so.
    """
    if topic is not None:
        yield from read_rows(path, source, topic)
        return
    if path.suffix.lower() == PARQUET:
        raise EventsFileError(_plain(path, source))
    _check_format(path)
    try:
        yield from read_events(path, source, again=again, order=order)
    except EnvelopeError as error:
        if error.line > 1:
            raise
        msg = f"{error.problem}; {_plain(path, source)}"
        raise EnvelopeError(path, error.line, msg) from error


def read_rows(path: Path, source: Source, topic: str) -> Iterator[LogRecord]:
    """Yield the rows of a file of JSON lines, or of Parquet, as the log of a lane.

    Lines with nothing but blanks are no rows.

    Raises:
        EventsFileError: it cannot be read, or the pipeline reads no such topic.
        EnvelopeError: a line is longer than a record may be.
    """
    if source.number(topic, 0) is None:
        known = meant_or_known(topic, [part.topic for part in source.parts])
        msg = f"--as {topic}: the pipeline reads no such topic{known}"
        raise EventsFileError(msg)
    _check_format(path)
    if path.suffix.lower() == PARQUET:
        from chaos.readers.parquet import parquet_values  # noqa: PLC0415 - pyarrow takes long

        values = parquet_values(path, next(p for p in source.parts if p.topic == topic))
    else:
        values = _lines(path)
    for offset, value in enumerate(values):
        yield LogRecord(
            source=topic, partition=0, offset=offset, value=value, control=None, append_us=None
        )


def _lines(path: Path) -> Iterator[bytes]:
    try:
        for number, line in bounded_lines(path):
            if number == 1 and line.startswith(_BYTE_ORDER_MARK):
                problem = "it begins with a byte order mark: save the file as UTF-8 without one"
                raise EnvelopeError(path, number, problem)
            if value := line.strip(b" \t\r\n"):
                yield value
    except LineTooLong as error:
        problem = f"longer than {LINE_BYTES_MAX >> 20} MiB, which no record may be"
        raise EnvelopeError(path, error.line, problem) from error
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror}"
        raise EventsFileError(msg) from error


def _check_format(path: Path) -> None:
    if path.suffix.lower() in _CSV:
        msg = (
            f"{path}: rows of {path.suffix[1:].upper()} are not read yet: give them as JSON lines "
            "or as Parquet"
        )
        raise EventsFileError(msg)


def _plain(path: Path, source: Source) -> str:
    topic = source.parts[0].topic
    return (
        f"if {path} has plain rows, a value each, say whose they are, as --as {topic}: one lane, "
        "offsets from 0"
    )
