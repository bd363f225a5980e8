"""`slackwater send`: a file of events to the pipeline's topic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slackwater.console import bar, say
from slackwater.files import PipelineFile, broker


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(send)


def send(
    pipeline: PipelineFile,
    input_: Annotated[
        Path, typer.Option("--input", metavar="EVENTS.jsonl", help="The log, one event per line.")
    ],
    bootstrap: Annotated[
        str | None, typer.Option(help="Broker; default: the local stack's.")
    ] = None,
) -> None:
    """Send a file of events to the pipeline's topic; skips what it already holds."""
    from chaos.readers.log import read_events
    from jobs.tools.send_events import send_events
    from windowing.engine.reading import batches
    from windowing.model import load_pipeline

    spec = load_pipeline(pipeline)
    entries = batches.checked(read_events(input_, spec.source), spec)
    with bar(f"sending to {spec.source.topic}") as shown:
        task = shown.task_ids[0]
        found = send_events(
            spec, broker(bootstrap), entries, lambda sent: shown.update(task, completed=sent)
        )
    for one in found:
        say(f"{one.records} records on topic {one.topic}, {one.appended} appended")
