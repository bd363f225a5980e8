"""Commands over the running stack: produce, topics, progress, plot, demo."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from slackwater import answers
from slackwater.chosen import OptionalRun, chosen, stack_for
from slackwater.console import FAILED, PASSED, bar, err, say, tell
from slackwater.ending import when_interrupted
from slackwater.files import PipelineFile
from slackwater.places import check_picture, check_places
from slackwater.stack import Which, WhichStack

if TYPE_CHECKING:
    from windowing.model import Pipeline


def register(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (produce, topics, progress, plot, demo):
        app.command()(command)


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


def _accept(spec: Pipeline, run: str | None) -> None:
    """Let new partitions join a run, and print the entry for the user's file."""
    from infra import stack
    from jobs import runs
    from jobs.checkpoints.partitions import accept
    from jobs.runs.orders import live_run
    from windowing.model.file.joining import spelled

    endpoints = stack.endpoints(only=["kafka"])
    found = runs.find(endpoints, spec, run) if run else live_run(endpoints, spec.name)
    if found is None:
        msg = (
            f"pipeline {spec.name} has no run that a partition could join: declare as many "
            "partitions as the topic has, and submit one"
        )
        raise runs.RunError(msg)
    with err.status(f"reading how far run {found.run} is"):
        accepted = accept(found, spec, endpoints.kafka_bootstrap)
    for lane in accepted.lanes:
        at = ", ".join(f"{field} {value}" for field, value in lane.at) or "none yet"
        say(f"{lane.name} joins run {found.run} as lane {lane.number}; its progress: {at}")
    for topic in dict.fromkeys(lane.topic for lane in accepted.lanes):
        lanes = accepted.pipeline.source.joined_lanes
        say(f"put this under the source of topic {topic}, for verify and every other command:")
        say(spelled(topic, lanes).rstrip())


def progress(
    pipeline: PipelineFile,
    run: OptionalRun = None,
    ends: Annotated[
        bool, typer.Option("--ends", help="Only print the topic's end per partition.")
    ] = False,
    until: Annotated[
        str | None,
        typer.Option(metavar="JSON", help='Target, as {"0": 100}; default: the topic\'s end.'),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Show how far a run's committed offsets are from a target, and the run's state."""
    from jobs import runs
    from jobs.brokers.topics import lane_ends
    from jobs.runs.overview import page_now
    from windowing.model import load_pipeline

    target = None if until is None else _offsets(until)
    endpoints = stack_for(pipeline, "kafka", "spark")
    if ends:
        source = load_pipeline(pipeline).source
        target = target or lane_ends(endpoints.kafka_bootstrap, source)
        say(json.dumps({str(lane): end for lane, end in target.items()}))
        return
    of, spec = chosen(endpoints, pipeline, run)
    if target is None:
        # The reason for a job's failure, even an undeclared partition, is reported below.
        gave_up = runs.failure(of) is not None
        target = lane_ends(endpoints.kafka_bootstrap, spec.source, declared_only=gave_up)
    found = runs.progress(endpoints, of, target, spec.source)
    if as_json:
        say(json.dumps(answers.progress(found, spec, page_now(endpoints, of))))
        return
    state = found.state.upper()
    say(f"{of.run}: {state}, {found.batches} batches, {found.behind} offsets behind")
    if found.why:
        say(found.why)
    raise typer.Exit(FAILED if found.error else PASSED)


def _offsets(text: str) -> dict[int, int]:
    """Parse offsets by lane from JSON.

    Raises:
        BadParameter: it is something else.
    """
    try:
        found = msgspec.json.decode(text, type=dict[int, int])
    except (msgspec.MsgspecError, UnicodeError):
        found = {-1: -1}
    if any(lane < 0 or end < 0 for lane, end in found.items()):
        msg = f'--until {text}: give the offset of each partition as JSON, as {{"0": 100}}'
        raise typer.BadParameter(msg)
    return found


def plot(
    pipeline: PipelineFile,
    png: Annotated[Path, typer.Option(metavar="FILE.png", help="The picture.")],
    run: OptionalRun = None,
) -> None:
    """Draw a week of the flights' delays, with the windows that late records revised."""
    from jobs.tools.plot import plot as draw

    check_picture("--png", png, {"the pipeline": pipeline})
    of, _ = chosen(stack_for(pipeline, "kafka"), pipeline, run)
    drawn = draw(of.table, of.run, png)
    say(f"{png}: {drawn.windows} windows from {drawn.start}, {drawn.revised} of them revised")


def demo(
    max_offsets: Annotated[
        int,
        typer.Option(min=1000, help="Throttle, so that the job lives long enough to be broken."),
    ] = 40_000,
    which: WhichStack = Which.standalone,
) -> None:
    """Start the stack, deploy the flights, break the job twice, and prove the result."""
    from slackwater.demo import Demo

    left = "the stack and the demo's job go on: `slackwater down` ends them"
    with when_interrupted(lambda: tell(left)):
        verdict = Demo(max_offsets, err, which).run()
    raise typer.Exit(verdict)
