"""Commands over topics: topics, produce, send, record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import bar, err, say
from slackwater.noted import tell_notes, tell_of_topics
from slackwater.options import As, OptionalRun, PipelineFile, broker
from slackwater.places import check_places

if TYPE_CHECKING:
    from chaos.readers.log import LogRecord
    from jobs.tools.send_events import KeyOf
    from windowing.engine.reading.batches import Entry
    from windowing.model import Pipeline
    from windowing.model.source import Source

_Lanes = dict[int, int]
"""Offsets by the numbers of lanes."""


class Data(StrEnum):
    """What can be published."""

    flights = "flights"
    departures = "departures"


def produce(
    data: Annotated[
        Data,
        typer.Option(help="flights; or departures with tail numbers, and the weather."),
    ] = Data.flights,
    output: Annotated[
        Path | None,
        typer.Option(metavar="EVENTS.jsonl", help="Write to a file instead of the topic."),
    ] = None,
) -> None:
    """Publish the flights of New York 2013; skips what a topic already holds."""
    from infra import stack
    from jobs.datasets import flights, weather

    check_places({"--output": output}, {})
    by_topic = {flights.TOPIC: flights.flights()} if data is Data.flights else weather.logs()
    if output is not None:
        log = by_topic[flights.TOPIC] if data is Data.flights else weather.merged(by_topic)
        count = flights.events_jsonl(output, log)
        say(f"{count} events written to {output}")
        return
    bootstrap = stack.endpoints(only=["kafka"]).kafka_bootstrap
    for topic, log in by_topic.items():
        with bar(f"publishing {topic}") as shown:
            task = shown.task_ids[0]
            published = flights.publish(
                bootstrap,
                lambda done, total: shown.update(task, completed=done, total=total),  # noqa: B023
                topic=topic,
                log=log,
            )
        say(
            f"{published.records} records on topic {topic}, {published.appended} appended "
            f"in {published.seconds:.1f} s"
        )


def topics(
    pipeline: PipelineFile,
    accept_partitions: Annotated[
        bool,
        typer.Option(
            "--accept-partitions",
            help="Let partitions that were added to the topic join a run, at its current progress.",
        ),
    ] = False,
    run: OptionalRun = None,
) -> None:
    """Create the pipeline's topic, with its declared partitions, if it does not exist."""
    from infra import stack
    from jobs.brokers.topics import create_topics
    from windowing.model import load_pipeline

    spec = load_pipeline(pipeline)
    if accept_partitions:
        _accept(spec, run)
        return
    for topic in create_topics(spec, stack.endpoints(only=["kafka"]).kafka_bootstrap):
        made = "created" if topic.created else "there already"
        say(f"{topic.name}: {topic.partitions} partitions, {made}")
    tell_of_topics(spec)


def _accept(spec: Pipeline, run: str | None) -> None:
    """Let new partitions join a run, and print the entry for the user's file."""
    from infra import stack
    from jobs import runs
    from jobs.checkpoints.partitions import accept
    from jobs.runs.choice import live_run
    from windowing.model.file.versions import spelled

    endpoints = stack.endpoints(only=["kafka"])
    found = runs.find(endpoints, spec, run) if run else live_run(endpoints, spec.name)
    if found is None:
        msg = (
            f"pipeline {spec.name} has no run that a partition could join: declare as many "
            "partitions as the topic has, and submit one"
        )
        raise runs.RunError(msg)
    with err().status(f"reading how far run {found.run} is"):
        accepted = accept(found, spec, endpoints.kafka_bootstrap)
    for lane in accepted.lanes:
        at = ", ".join(f"{field} {value}" for field, value in lane.at) or "none yet"
        say(f"{lane.name} joins run {found.run} as lane {lane.number}; its progress: {at}")
    for topic in dict.fromkeys(lane.topic for lane in accepted.lanes):
        lanes = accepted.pipeline.source.added_lanes
        say(f"put this under the source of topic {topic}, for verify and every other command:")
        say(spelled(topic, lanes).rstrip())


def send(
    pipeline: PipelineFile,
    input_: Annotated[
        Path,
        typer.Option(
            "--input", metavar="EVENTS.jsonl", help="The log, one event per line; or see --as."
        ),
    ],
    as_: As = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD", help="With --as: a record's key, which also chooses its partition."
        ),
    ] = None,
    append: Annotated[
        bool,
        typer.Option("--append", help="Append all of it, whatever the topic holds already."),
    ] = False,
    bootstrap: Annotated[
        str | None, typer.Option(help="Broker; default: the local stack's.")
    ] = None,
) -> None:
    """Send a file of events, or of plain rows, to the pipeline's topic.

    It skips what the topic already holds, and so can be repeated; with --append it does not look.
    """
    from chaos.readers.plain_rows import read_input
    from jobs.tools.send_events import append_events, send_events
    from windowing.engine.reading import batches
    from windowing.explain.notes import nothing_sent
    from windowing.model import load_pipeline

    spec = load_pipeline(pipeline)
    key_of = None if key is None else _key_of(key, as_)
    entries = batches.checked(read_input(input_, spec.source, as_), spec)
    to = " and ".join(part.topic for part in spec.source.parts)
    with bar(f"sending to {to}") as shown:
        task = shown.task_ids[0]
        found = (append_events if append else send_events)(
            spec,
            broker(bootstrap),
            entries,
            lambda sent: shown.update(task, completed=sent),
            key_of,
        )
    for one in found:
        say(f"{one.records} records on topic {one.topic}, {one.appended} appended")
        tell_notes(nothing_sent(one.topic, one.records, one.appended))
    tell_of_topics(spec, bootstrap)


def _key_of(field: str, as_: str | None) -> KeyOf:
    """Return what takes the key of a record from its value: a text as it is, else its JSON.

    Raises:
        BadParameter: the records are events, which say their partitions; or it is no path.
    """
    from chaos.readers.value_parts import part_of
    from windowing.model.paths import parse_path

    if as_ is None:
        msg = "--key is for plain rows, with --as TOPIC: an event names its partition itself"
        raise typer.BadParameter(msg)
    try:
        path = parse_path(field)
    except ValueError as error:
        msg = f"--key {error}"
        raise typer.BadParameter(msg) from None

    def key_of(entry: Entry) -> bytes | None:
        text = (entry.value or b"").decode("utf-8", "surrogateescape")
        found = part_of(text, path)
        return None if found is None else found.encode("utf-8", "surrogatepass")

    return key_of


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
    from windowing.explain.notes import nothing_recorded
    from windowing.model import load_pipeline

    check_places({"--output": output}, {"the pipeline": pipeline})
    if output.exists() and not force:
        msg = f"--output {output} is there already: name another file, or replace it with --force"
        raise typer.BadParameter(msg)
    spec = load_pipeline(pipeline)
    source, address = spec.source, broker(bootstrap)
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
    empty = all(begins.get(lane, 0) >= end for lane, end in ends.items())
    tell_notes(nothing_recorded(written, is_empty_range=empty))
    tell_of_topics(spec, address)


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


COMMANDS = (topics, produce, send, record)
