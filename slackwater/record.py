"""`slackwater record`: a topic, or a range of it, as a file that `run` and `verify` read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import bar, say
from slackwater.files import PipelineFile, broker
from slackwater.places import check_places

if TYPE_CHECKING:
    from chaos.readers.log import LogRecord
    from windowing.model.source import Source

_Lanes = dict[int, int]
"""Offsets by the numbers of lanes."""


def register(app: typer.Typer) -> None:
    """Add `record`."""
    app.command()(record)


def record(
    pipeline: PipelineFile,
    output: Annotated[
        Path,
        typer.Option(metavar="EVENTS.jsonl", help="The file; it appears complete or not at all."),
    ],
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="OFFSETS|TIME",
            help='The first record: {"flights/0": 100}, or an ISO append time.',
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="OFFSETS|TIME",
            help="The first record to leave out; default: the current end.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    bootstrap: Annotated[
        str | None, typer.Option(help="The broker; default: the local stack's.")
    ] = None,
) -> None:
    """Write the pipeline's topic, or a range of it, to a file: records and control records."""
    from jobs.brokers.topics import lane_ends
    from jobs.tools.recording import write_events
    from windowing.model import load_pipeline

    check_places({"--output": output}, {"the pipeline": pipeline})
    if output.exists() and not force:
        msg = f"--output {output} is there already: name another file, or replace it with --force"
        raise typer.BadParameter(msg)
    source, address = load_pipeline(pipeline).source, broker(bootstrap)
    settled = lane_ends(address, source)
    begins = _offsets("--from", from_, source, address)
    ends = {**settled, **_offsets("--to", to, source, address)}
    if beyond := [lane for lane in sorted(ends) if ends[lane] > settled[lane]]:
        lane = beyond[0]
        msg = f"--to {ends[lane]} of {source.lane(lane)}: it ends before offset {settled[lane]}"
        raise typer.BadParameter(msg)
    with bar("recording", sum(max(0, ends[n] - begins.get(n, 0)) for n in ends)) as shown:
        task = shown.task_ids[0]
        log = _read(address, source, begins, ends)
        written = write_events(output, log, lambda done: shown.update(task, completed=done))
    say(f"{written:,} records of {', '.join(p.topic for p in source.parts)} written to {output}")


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


def _offsets(option: str, text: str | None, source: Source, address: str) -> _Lanes:
    """Parse what the user wrote into offsets by lane number.

    Raises:
        BadParameter: neither offsets of existing lanes nor a time.
    """
    from jobs.brokers.topics import offsets_at
    from windowing.model.lengths import instant_us

    if text is None:
        return {}
    if text.lstrip().startswith("{"):
        return named_offsets(option, text, source)
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
