"""Commands that deploy: submit, handover."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater import answers
from slackwater.chosen import stack_for
from slackwater.classes import check_classes
from slackwater.console import FAILED, PASSED, err, say, tell
from slackwater.files import PipelineFile

if TYPE_CHECKING:
    from infra.endpoints import Endpoints
    from jobs.deployment.deploy import Deployment

RunName = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="NAME",
        help="The run: one checkpoint, one result. By default the live one, if the file means what "
        "it was begun with.",
    ),
]
Origin = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="RUN|TIME|OFFSETS",
        help="Where a new run starts: where another run is; at what was appended at a time or "
        'later; at offsets, as {"0": 100}. By default at the beginning of the log.',
    ),
]
Beside = Annotated[
    bool,
    typer.Option("--beside", help="Let a new run work beside the live one until it takes over."),
]
Replace = Annotated[
    bool, typer.Option("--replace", help="Stop the jobs of the pipeline's other runs first.")
]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (submit, handover):
        app.command()(command)


def submit(
    pipeline: PipelineFile,
    run: RunName = None,
    origin: Origin = None,
    beside: Beside = False,
    replace: Replace = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would do.")] = False,
    max_offsets: Annotated[
        int | None, typer.Option(min=1, help="Offsets per batch, at most.")
    ] = None,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Read what is there, then end.")
    ] = False,
) -> None:
    """Submit a file as a supervised run; first say what that means, and what it stops.

    If the file's meaning is unchanged, attach to a running run, or resume a stopped one from its
    checkpoint. Otherwise change nothing, and list the alternatives.
    """
    from jobs.deployment.deploy import carry_out
    from jobs.runs import living
    from jobs.runs.overview import page_now

    endpoints = stack_for(pipeline, "kafka", "spark")
    found = _prepared(endpoints, pipeline, (run, origin), beside=beside, replace=replace)
    for sentence in found.said:
        (say if dry_run else tell)(sentence)
    if dry_run:
        return
    submitted = carry_out(endpoints, found, max_offsets=max_offsets, available_now=available_now)
    for ended in set(found.plan.ends).difference(living(endpoints, submitted.pipeline)):
        tell(f"ended the job of run {ended}")
    say(json.dumps(answers.submission(submitted, page_now(endpoints, submitted))))


def _prepared(
    endpoints: Endpoints,
    pipeline: Path,
    named: tuple[str | None, str | None],
    *,
    beside: bool,
    replace: bool,
) -> Deployment:
    from jobs.deployment.decision import Wish
    from jobs.deployment.deploy import prepare
    from windowing.model import load_pipeline

    spec = load_pipeline(pipeline)
    check_classes(spec, pipeline)  # before stopping a running job for this one
    run, origin = named
    wish = Wish(pipeline, spec.name, run, origin, beside=beside, replace=replace)
    return prepare(endpoints, spec, wish)


def handover(
    pipeline: PipelineFile,
    to: Annotated[str, typer.Option("--to", metavar="RUN", help="The run that takes over.")],
    within: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="How long the new run may take to catch up."),
    ] = 60.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only compare the runs.")] = False,
) -> None:
    """Promote a run that works beside the live one, if they agree where they must.

    Compares the windows of queries with the same meaning, by the aggregates that both have, and
    names what only one of them has. If windows differ, nothing is changed.
    """
    from chaos.handover.run import compare, sides
    from jobs.runs import take_over
    from slackwater.replay import show_contrast

    endpoints = stack_for(pipeline, "kafka", "spark")
    blue, green = sides(endpoints, pipeline, to)
    if blue is None:
        say(f"run {green.run} is the live run of pipeline {green.pipeline} already")
        return
    with err.status(f"comparing {blue.run} with {green.run}"):
        found = compare(endpoints, blue, green, within_s=within, news=tell)
    for sentence in found.sentences():
        say(sentence)
    if not found.ok:
        show_contrast(found.windows)
        tell(f"run {blue.run} stays the live one: nothing was done")
        raise typer.Exit(FAILED)
    if dry_run:
        return
    for ended in take_over(endpoints, green, blue):
        tell(f"ended the job of run {ended}; its rows and checkpoint stay")
    say(f"run {green.run} is the live run of pipeline {green.pipeline} now")
    raise typer.Exit(PASSED)
