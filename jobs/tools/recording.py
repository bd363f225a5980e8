"""A recorded log: as columns, for tools that need all of it, and as lines of EVENTS.jsonl."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from windowing.engine.lane import check_lane
from windowing.engine.reading.batches import Entry, raw_rows
from windowing.engine.reading.pack import DATA, END, RawRows, pack
from windowing.engine.reading.rules import ValueRules
from windowing.files.whole_files import whole_file
from windowing.model import Pipeline
from windowing.model.control import COUNTER_HEADER, SIGNATURE_HEADER, ControlEnvelope, unsealed
from windowing.model.metadata import NO_METADATA, Metadata, metadata_of

_CHUNK_ROWS = 50_000


@dataclass(frozen=True)
class Event:
    """A record to be written, as described by `Entry`."""

    source: str
    partition: int
    offset: int
    value: bytes | None
    control: bytes | None
    append_us: int | None
    metadata: Metadata = NO_METADATA


@dataclass(frozen=True)
class Recording:
    """The valid records of a log, before the ends of their lanes.

    Attributes:
        lanes: per declared lane, by number, in offset order: `arrival` (the record's number in the
            log, from 0, bad values and control records counted), `offset`, `ts_us`, `append_us`,
            and a column for every field, named as in a chunk.
        ended: per lane that has an end, the end's number in the log.
        length: number of records of any kind in the log.
    """

    lanes: dict[int, pl.DataFrame]
    ended: dict[int, int]
    length: int


def record(pipeline: Pipeline, log: Iterable[Entry]) -> Recording:
    """Read a log into columns.

    Args:
        pipeline: defines valid records.
        log: entries of its lanes, each lane in offset order.

    Raises:
        UndeclaredPartition: an entry belongs to no lane.
    """
    rules = [ValueRules.of(pipeline, number) for number in range(_lanes(pipeline))]
    empty = pack(RawRows([], [], [], []), rules[0])
    frames = {partition: [_placed(empty, [], [])] for partition in range(_lanes(pipeline))}
    numbers = count()
    length = 0
    for part in _chunks(log):
        by_lane: dict[int, list[tuple[int, Entry]]] = {}
        for entry in part:
            number = pipeline.source.number(entry.source, entry.partition)
            by_lane.setdefault(entry.partition if number is None else number, []).append(
                (next(numbers), entry)
            )
        length += len(part)
        for partition, placed in by_lane.items():
            check_lane(pipeline.source, partition)
            entries = [entry for _, entry in placed]
            append_us = [entry.append_us for entry in entries]
            rows = raw_rows(entries, pipeline.source.place(partition)[0])
            arrival = [number for number, _ in placed]
            frames[partition].append(_placed(pack(rows, rules[partition]), arrival, append_us))
    whole = {partition: pl.concat(parts, how="diagonal") for partition, parts in frames.items()}
    ended = {
        partition: int(ends["arrival"][0])
        for partition, frame in whole.items()
        if len(ends := frame.filter(pl.col("kind") == END))
    }
    lanes = {
        partition: frame.filter(
            pl.col("kind") == DATA, pl.col("arrival") < ended.get(partition, length)
        ).drop("kind", "refusal")
        for partition, frame in whole.items()
    }
    return Recording(lanes, ended, length)


def _chunks(log: Iterable[Entry]) -> Iterator[list[Entry]]:
    part: list[Entry] = []
    for entry in log:
        part.append(entry)
        if len(part) == _CHUNK_ROWS:
            yield part
            part = []
    if part:
        yield part


def _lanes(pipeline: Pipeline) -> int:
    return pipeline.source.partitions


def _placed(chunk: pl.DataFrame, arrival: list[int], append_us: list[int | None]) -> pl.DataFrame:
    return chunk.with_columns(
        pl.Series("arrival", arrival, dtype=pl.Int64),
        pl.Series("append_us", append_us, dtype=pl.Int64),
    )


def write_events(
    path: Path, log: Iterable[Entry], progress: Callable[[int], None] | None = None
) -> int:
    """Write a log as EVENTS.jsonl; return the number of lines. The file appears complete or not.

    Args:
        progress: called periodically with the number of lines.

    Raises:
        WriteError: it cannot be written.
    """
    lines = 0
    with whole_file(path) as file:
        for lines, entry in enumerate(log, 1):
            file.write(event_line(entry) + b"\n")
            if progress and lines % 5_000 == 0:
                progress(lines)
    return lines


def event_line(entry: Entry) -> bytes:
    """Format an entry as a line of EVENTS.jsonl, without the line end.

    A value that is JSON on one line is written unchanged, even with invalid UTF-8 in its strings;
    any other as text. Bytes that are not text at all become text that is not JSON either, and a
    null value becomes `null`: a dead letter before and after in either case. So does a control that
    is not JSON: as text it has no known shape either.
    """
    place = {"source": entry.source, "partition": entry.partition, "offset": entry.offset}
    if entry.append_us is not None:
        place["append_us"] = entry.append_us
    if entry.control is None:
        place |= _metadata(metadata_of(entry))
    head = json.dumps(place, separators=(",", ":")).encode()[:-1]
    if entry.control is not None:
        found = unsealed(entry.control)
        spelled = found.body if _in_one_line(found.body) else _as_text(found.body)
        return head + _signed(found) + b',"control":' + spelled + b"}"
    value = b"null" if entry.value is None else entry.value
    if _in_one_line(value):
        return head + b',"value":' + value + b"}"
    return head + b',"raw":' + _as_text(value) + b"}"


def _metadata(found: Metadata) -> dict[str, Any]:
    """Return the members of a line for what a record has besides its value.

    Lines have text only, so that bytes which are no UTF-8 become null, as in expressions.
    """
    shown: dict[str, Any] = {}
    if found.key is not None:
        shown["key"] = _utf8(found.key)
    if found.timestamp_us is not None:
        shown["timestamp_us"] = found.timestamp_us
    if found.headers:
        shown["headers"] = {name: _utf8(value) for name, value in found.headers}
    return shown


def _utf8(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _signed(found: ControlEnvelope) -> bytes:
    """Return the member of a line with the headers that sign a control; nothing without them."""
    if found.signature is None or found.counter is None:
        return b""
    own = {SIGNATURE_HEADER: found.signature, COUNTER_HEADER: found.counter}
    try:
        headers = {name: content.decode() for name, content in own.items()}
    except UnicodeDecodeError:
        return b""  # no signature looks so
    return b',"headers":' + json.dumps(headers, separators=(",", ":")).encode()


def _as_text(data: bytes) -> bytes:
    """Format any bytes as a JSON string."""
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
    return json.dumps(text).encode()


def _in_one_line(value: bytes) -> bool:
    if b"\n" in value or b"\r" in value:
        return False
    try:
        orjson.loads(value)
    except orjson.JSONDecodeError:
        return _is_but_for_its_texts(value)
    return True


def _is_but_for_its_texts(value: bytes) -> bool:
    """Whether a value would be JSON if its invalid UTF-8 bytes were text."""
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        with contextlib.suppress(ValueError, RecursionError):
            json.loads(value.decode("utf-8", "surrogateescape"))
            return True
    return False
