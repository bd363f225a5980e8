"""`slackwater record`: a topic, or a file, as events: all of it or a range, or as a test."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import bar, say, tell
from slackwater.noted import tell_notes, tell_of_topics
from slackwater.options import As, End, PipelineFile, broker
from slackwater.places import check_places

if TYPE_CHECKING:
    from chaos.readers.hashed import Hashing
    from chaos.readers.log import LogRecord
    from windowing.model import Pipeline
    from windowing.model.source import Source

_Lanes = dict[int, int]
"""Offsets by the numbers of lanes."""


_Begin = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="OFFSETS|TIME",
        help='The first record: {"flights/0": 100}, or an ISO append time.',
    ),
]
_Behind = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="OFFSETS|TIME",
        help="The first record to leave out; default: the current end.",
    ),
]
_Hashed = Annotated[
    list[str] | None,
    typer.Option(
        "--hash",
        metavar="FIELD",
        help="Replace its values by their hash, equal ones by equal texts; can be repeated.",
    ),
]
_Salt = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="With --hash: the variable that has the secret salt."),
]
_AsTest = Annotated[
    str | None,
    typer.Option(
        "--test",
        metavar="NAME",
        help="Write a test for the pipeline file instead, with all that the definition says of "
        "these records.",
    ),
]


def record(
    pipeline: PipelineFile,
    output: Annotated[
        Path,
        typer.Option(metavar="EVENTS.jsonl", help="The file; it appears complete or not at all."),
    ],
    input_: Annotated[
        Path | None,
        typer.Option("--input", metavar="FILE", help="A file of events instead of the topic."),
    ] = None,
    as_: As = None,
    end: End = False,
    from_: _Begin = None,
    to: _Behind = None,
    hash_: _Hashed = None,
    salt_env: _Salt = None,
    as_test: _AsTest = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    bootstrap: Annotated[
        str | None, typer.Option(help="The broker; default: the local stack's.")
    ] = None,
) -> None:
    """Write the pipeline's topic, or a range of it, to a file: records and control records.

    With --hash, real data can become a test; with --input also rows of other files become events.
    """
    from chaos.readers.lane_ends import with_ends
    from windowing.explain.log_notes import nothing_recorded
    from windowing.model import load_pipeline

    check_places({"--output": output}, {"the pipeline": pipeline, "--input": input_})
    _check(output, input_, as_, force=force)
    spec = load_pipeline(pipeline)
    hashing = _hashing(spec.source, hash_, salt_env)
    if input_ is None:
        part = _of_topics(spec.source, broker(bootstrap), from_, to)
    else:
        part = _of_file(spec.source, input_, as_, from_, to)
    log = part.log if hashing is None else hashing.of(part.log)
    log = with_ends(spec.source, log) if end else log
    with bar("recording", part.records) as shown:
        task = shown.task_ids[0]
        written = _write(
            spec, output, log, as_test, lambda done: shown.update(task, completed=done)
        )
    topics = ", ".join(part.topic for part in spec.source.parts)
    say(f"{written:,} records of {topics} written to {output}")
    tell_notes(nothing_recorded(written, is_empty_range=part.records == 0))
    if hashing is not None and hashing.withheld:
        tell_notes([f"withheld, since they are no JSON to hash fields of: {hashing.withheld:,}"])
    if as_test is not None:
        tell(
            f"{output} is the block tests: alone: put it at the end of {pipeline}, or its lines "
            f"below tests: into the block that is there, then `slackwater test {pipeline}`; look "
            "at what it expects before you believe it: it is what this pipeline gives"
        )
    if input_ is None:
        tell_of_topics(spec, broker(bootstrap))


def _check(output: Path, input_: Path | None, as_: str | None, *, force: bool) -> None:
    if output.exists() and not force:
        msg = f"--output {output} is there already: name another file, or replace it with --force"
        raise typer.BadParameter(msg)
    if as_ is not None and input_ is None:
        msg = "--as is for --input FILE: a topic has records"
        raise typer.BadParameter(msg)


@dataclass(frozen=True)
class _Part:
    """What is to be recorded.

    Attributes:
        records: how many offsets are in the range; None: unknown.
    """

    log: Iterable[LogRecord]
    records: int | None = None


def _hashing(source: Source, fields: Sequence[str] | None, salt_env: str | None) -> Hashing | None:
    from chaos.readers.hashed import Hashing

    if not fields:
        if salt_env is not None:
            msg = "--salt-env is for --hash FIELD"
            raise typer.BadParameter(msg)
        return None
    if salt_env is not None and not os.environ.get(salt_env):
        msg = f"--salt-env {salt_env}: there is no such variable, or it is empty: export it"
        raise typer.BadParameter(msg)
    return Hashing(source, fields, os.environ[salt_env] if salt_env else "")


def _of_topics(source: Source, address: str, from_: str | None, to: str | None) -> _Part:
    from jobs.brokers.topics import lane_ends

    settled = lane_ends(address, source)
    begins = _offsets("--from", from_, source, address)
    ends = {**settled, **_offsets("--to", to, source, address)}
    if beyond := [lane for lane in sorted(ends) if ends[lane] > settled[lane]]:
        lane = beyond[0]
        msg = f"--to {ends[lane]} of {source.lane(lane)}: it ends before offset {settled[lane]}"
        raise typer.BadParameter(msg)
    records = sum(max(0, ends[n] - begins.get(n, 0)) for n in ends)
    return _Part(_read(address, source, begins, ends), records)


def _of_file(
    source: Source, file: Path, topic: str | None, from_: str | None, to: str | None
) -> _Part:
    from chaos.readers.log import behind, up_to
    from chaos.readers.plain_rows import read_input
    from windowing.model.lengths import INT64_MAX

    begins, ends = _offsets("--from", from_, source), _offsets("--to", to, source)
    lanes = dict.fromkeys(range(source.partitions), INT64_MAX)
    read = up_to(source, read_input(file, source, topic), {**lanes, **ends} if to else None)
    return _Part(behind(source, read, begins))


def _write(
    spec: Pipeline,
    output: Path,
    log: Iterable[LogRecord],
    as_test: str | None,
    progress: Callable[[int], None],
) -> int:
    """Write a log as events, or as a test; return the number of records."""
    from msgspec.structs import replace

    from jobs.tools.recording import event_line, write_events
    from windowing.model.metadata import NO_METADATA

    if as_test is None:
        return write_events(output, log, progress)
    from chaos.file_tests.writing import written
    from windowing.files.whole_files import whole_file

    # What nothing uses would only make the lines longer.
    used = bool(spec.source.carried)
    records = [one if used else replace(one, metadata=NO_METADATA) for one in log]
    text = written(spec, as_test, records, map(event_line, records))
    with whole_file(output) as file:
        file.write(text.encode())
    return len(records)


def _read(address: str, source: Source, begins: _Lanes, ends: _Lanes) -> Iterator[LogRecord]:
    """Read the records of a range; for a join, its two topics one after the other."""
    from chaos.readers.topic import read_topic

    for topic in (part.topic for part in source.parts):
        first, behind = (_of_topic(source, topic, lanes) for lanes in (begins, ends))
        yield from read_topic(address, topic, begins=first, ends=behind)


def _of_topic(source: Source, topic: str, lanes: _Lanes) -> _Lanes:
    """Translate values by lane into values by partition of one topic."""
    placed = [(source.place(lane), offset) for lane, offset in lanes.items()]
    return {partition: at for (part, partition), at in placed if part.topic == topic}


def _offsets(option: str, text: str | None, source: Source, address: str | None = None) -> _Lanes:
    """Parse what the user wrote into offsets by lane number.

    Args:
        address: of the broker that knows which offsets a time has; None: there is none.

    Raises:
        BadParameter: neither offsets of existing lanes nor a time.
    """
    from jobs.brokers.topics import offsets_at
    from windowing.model.lengths import instant_us

    if text is None:
        return {}
    if text.lstrip().startswith("{"):
        return named_offsets(option, text, source)
    if address is None:
        msg = f'{option} {text}: of a file give offsets, as {{"{source.lane(0)}": 100}}'
        raise typer.BadParameter(msg)
    try:
        at_us = instant_us(text)
    except ValueError as error:
        msg = f'{option}: {error}; or offsets, as {{"{source.lane(0)}": 100}}'
        raise typer.BadParameter(msg) from None
    found = {
        source.number(part.topic, partition): offset
        for part in source.parts
        for partition, offset in offsets_at(address, part.topic, at_us).items()
    }
    return {lane: offset for lane, offset in found.items() if lane is not None}


def named_offsets(option: str, text: str, source: Source) -> _Lanes:
    """Parse JSON offsets by lane, or by partition if there is only one topic.

    Raises:
        BadParameter: the text is not of this form, or names a lane that does not exist.
    """
    known = {source.lane(number): number for number in range(source.partitions)}
    if len(source.parts) == 1:
        known |= {str(number): number for number in range(source.partitions)}
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict) or not all(type(at) is int and at >= 0 for at in given.values()):
        msg = f'{option} {text}: give offsets by lane, as {{"{source.lane(0)}": 100}}'
        raise typer.BadParameter(msg)
    if strange := sorted(given.keys() - known.keys()):
        lanes = ", ".join(source.lane(number) for number in range(source.partitions))
        msg = f"{option}: the pipeline reads no lane {strange[0]!r}, but {lanes}"
        raise typer.BadParameter(msg)
    return {known[lane]: at for lane, at in given.items()}


COMMANDS = (record,)
