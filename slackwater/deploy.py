"""Commands that deploy: submit, handover, migrate, reshard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from slackwater import answers
from slackwater.console import FAILED, PASSED, bar, err, say, tell
from slackwater.limited import check_classes
from slackwater.noted import tell_of_file, tell_of_topics
from slackwater.options import OptionalRun, PipelineFile, stack_for

if TYPE_CHECKING:
    from infra.endpoints import Endpoints
    from jobs.checkpoints.conversion import Conversion
    from jobs.deployment.deploy import Deployment
    from jobs.runs import Run

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
_CAUGHT_UP_S = 60.0
"""How long a run that has caught up may take for what came meanwhile, in seconds."""

Unproved = Annotated[
    bool,
    typer.Option(
        "--unproved",
        help="Promote it without verifying what cannot be compared with the live run.",
    ),
]


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
    checkpoint; a stopped one also takes queries in addition, from an ORIGIN behind what it has
    read, and ends of queries behind it. Otherwise change nothing, and list the alternatives.
    """
    from jobs.deployment.deploy import carry_out
    from jobs.runs import living
    from jobs.runs.overview import page_now

    endpoints = stack_for(pipeline, "kafka", "spark")
    found = _prepared(endpoints, pipeline, (run, origin), beside=beside, replace=replace)
    for sentence in found.said:
        (say if dry_run else tell)(sentence)
    tell_of_file(found.pipeline)
    tell_of_topics(found.pipeline, endpoints.kafka_bootstrap)
    if found.plan.grows:
        _grow(endpoints, found, dry_run=dry_run)
    if dry_run:
        return
    submitted = carry_out(endpoints, found, max_offsets=max_offsets, available_now=available_now)
    for ended in set(found.plan.ends).difference(living(endpoints, submitted.pipeline)):
        tell(f"ended the job of run {ended}")
    say(json.dumps(answers.submission(submitted, page_now(endpoints, submitted))))


def _grow(endpoints: Endpoints, deployment: Deployment, *, dry_run: bool) -> None:
    """Convert the run's state for other queries, and tell what became of it."""
    from jobs.deployment.deploy import grow

    with err().status("converting the state"):
        done = grow(endpoints, deployment, dry_run=dry_run)
    if done is None:
        return
    rows = f"{done.rows:,} rows of state, the same before and after (digest {done.digest})"
    (say if dry_run else tell)(f"run {done.run.run}, before batch {done.batch}: {rows}")
    if done.kept is None:
        say("nothing was changed")
    else:
        tell(f"its old checkpoint is kept in {done.kept}")


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
    unproved: Unproved = False,
) -> None:
    """Promote a run that works beside the live one, if they agree where they must.

    Compares the windows of queries with the same meaning, by the aggregates that both have, and
    names what only one of them has. Where that leaves something uncompared, as with another slack,
    the new run is verified by its own definition. If windows differ, nothing is changed.
    """
    from chaos.handover import sides

    endpoints = stack_for(pipeline, "kafka", "spark")
    blue, green = sides(endpoints, pipeline, to)
    if blue is None:
        say(f"run {green.run} is the live run of pipeline {green.pipeline} already")
        return
    _take_over(endpoints, blue, green, within_s=within, dry_run=dry_run, unproved=unproved)


def migrate(
    pipeline: PipelineFile,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="NAME", help="The new run; default: the next free name."),
    ] = None,
    within: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="How long the new run may take to catch up."),
    ] = 3_600.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would do.")] = False,
    unproved: Unproved = False,
) -> None:
    """Replay the log with a changed file beside the live run, compare, and hand over.

    The live run works until then; if they differ where they must agree, it stays. Interrupted, the
    next call goes on with the same new run.
    """
    from chaos.handover import caught_up, sides
    from jobs.deployment.deploy import carry_out

    endpoints = stack_for(pipeline, "kafka", "spark")
    named = _begun(endpoints, pipeline, run)
    found = _prepared(endpoints, pipeline, (named, None), beside=True, replace=False)
    for sentence in found.said:
        (say if dry_run else tell)(sentence)
    if dry_run:
        return
    blue, green = sides(endpoints, pipeline, carry_out(endpoints, found).run)
    assert blue is not None  # noqa: S101 - the new run is beside it
    with bar(f"{green.run} reads what {blue.run} has read") as progress:
        for done, total in caught_up(endpoints, blue, green, within_s=within):
            progress.update(progress.task_ids[0], completed=done, total=total)
    _take_over(endpoints, blue, green, within_s=_CAUGHT_UP_S, dry_run=False, unproved=unproved)


def _begun(endpoints: Endpoints, file: Path, run: str | None) -> str | None:
    """Return the new run of a migration, if it has a name by now.

    Raises:
        NothingToMigrate: the live run, or the lack of one, needs no migration.
    """
    from chaos.handover import NothingToMigrate
    from jobs.deployment.deploy import known_runs
    from jobs.runs.choice import live_run
    from windowing.model import load_pipeline

    spec = load_pipeline(file)
    live, known = live_run(endpoints, spec.name), known_runs(endpoints, spec)
    if live is None or known[live.run].change.goes_on:
        why = "has no run" if live is None else f"means what its live run {live.run} runs"
        msg = f"pipeline {spec.name} {why}: `slackwater submit {file}` is enough"
        raise NothingToMigrate(msg)
    begun = (name for name, one in known.items() if one.beside and one.change.goes_on)
    return run or next(begun, None)


def _take_over(
    endpoints: Endpoints,
    blue: Run,
    green: Run,
    *,
    within_s: float,
    dry_run: bool,
    unproved: bool,
) -> None:
    """Compare two runs, and let the new one take over if they agree; ends the command.

    Args:
        unproved: whether it may although a comparison does not show that it is right.
    """
    from chaos.handover import compare
    from slackwater.replay import show_contrast
    from slackwater.verify import is_proved

    with err().status(f"comparing {blue.run} with {green.run}"):
        found = compare(endpoints, blue, green, within_s=within_s, news=tell)
    for sentence in found.sentences():
        say(sentence)
    if found.unproved and not unproved:
        say(f"not compared as a whole: {', '.join(found.unproved)}, so run {green.run} is verified")
    if not found.ok:
        show_contrast(found.windows)
    elif unproved or not found.unproved or is_proved(green, endpoints):
        if dry_run:
            return
        _promote(endpoints, blue, green)
    tell(f"run {blue.run} stays the live one: nothing was done")
    raise typer.Exit(FAILED)


def _promote(endpoints: Endpoints, blue: Run, green: Run) -> NoReturn:
    from jobs.runs import take_over

    for ended in take_over(endpoints, green, blue):
        tell(f"ended the job of run {ended}; its rows and checkpoint stay")
    say(f"run {green.run} is the live run of pipeline {green.pipeline} now")
    raise typer.Exit(PASSED)


def reshard(
    pipeline: PipelineFile,
    shards: Annotated[int, typer.Option(min=1, help="How many shards the run will have.")],
    run: OptionalRun = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Divide the state and compare it; change nothing.")
    ] = False,
) -> None:
    """Divide a stopped run's state among another number of shards, and prove that it is the same.

    The run goes on where it was, with the next batch, into the same tables.
    """
    from jobs.checkpoints.conversion import reshard_run
    from jobs.runs.choice import meant, one_at_a_time

    endpoints = stack_for(pipeline)
    found = meant(endpoints, pipeline, run)
    with one_at_a_time(endpoints, found.pipeline), err().status("dividing the state"):
        result = reshard_run(found, shards, dry_run=dry_run)
    _tell_resharded(result, str(pipeline))


def _tell_resharded(result: Conversion, file: str) -> None:
    name, shards = result.run.run, result.after.shards
    say(
        f"run {name}, before batch {result.batch}: {result.rows:,} rows of state, the same in "
        f"{result.before.shards} shards and in {shards} (digest {result.digest})"
    )
    if result.kept is None:
        say("nothing was changed")
        return
    say(f"the run has {shards} shards now; its old checkpoint is kept in {result.kept}")
    say(f"write `shards: {shards}` into {file}, then `slackwater start {file} --run {name}`")


COMMANDS = (submit, handover, migrate, reshard)
