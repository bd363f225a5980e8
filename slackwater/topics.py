"""Commands over topics: topics, produce, send."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import bar, err, say
from slackwater.noted import tell_notes, tell_of_topics
from slackwater.options import As, LogFile, OptionalRun, PipelineFile, broker
from slackwater.places import check_places

if TYPE_CHECKING:
    from jobs.tools.send_events import KeyOf
    from windowing.engine.reading.batches import Entry
    from windowing.model import Pipeline


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
    input_: LogFile,
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
    from windowing.explain.log_notes import nothing_sent
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


COMMANDS = (topics, produce, send)
