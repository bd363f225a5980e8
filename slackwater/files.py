"""Commands over files: run, verify, explain, validate; only `verify --topic` needs a stack."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.classes import check_classes
from slackwater.console import FAILED, PASSED, USAGE, bar, complain, say, tell
from slackwater.places import check_picture, check_places
from slackwater.rooms import remedy
from slackwater.until import Committed, Until, committed

if TYPE_CHECKING:
    from chaos.readers.output import Output
    from chaos.verdict.in_parts import Means
    from chaos.verdict.verify import Verdict
    from slackwater.judged import Judged
    from slackwater.since import Log
    from windowing.model import Pipeline

PipelineFile = Annotated[
    Path, typer.Argument(metavar="PIPELINE.yml", help="The pipeline file.", show_default=False)
]
Memory = Annotated[
    str, typer.Option(metavar="SIZE", help="Memory to use, approximately; beyond it, the disk.")
]
Topic = Annotated[bool, typer.Option("--topic", help="Read the log from the pipeline's topic.")]
LogFile = Annotated[
    Path | None, typer.Option("--input", metavar="FILE", help="Read the log from EVENTS.jsonl.")
]
RunName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The run; default: the live one, or a table's only one."),
]
Bootstrap = Annotated[
    str | None, typer.Option(help="Broker for --topic; default: the local stack's.")
]
Since = Annotated[
    str | None,
    typer.Option(
        metavar="OFFSETS|TIME|last|unverified",
        help='Judge only the rows after it: {"0": 100}, an ISO time, the last verification; '
        "unverified: after the last one, or all if there is none.",
    ),
]
Where = Annotated[
    Until | None,
    typer.Option(
        help="Judge a run by the whole log, or by what it has committed; default: committed if its "
        "job is alive.",
        show_default=False,
    ),
]
Master = Annotated[str, typer.Option(metavar="URL", help="Spark's master, for --engine spark.")]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Number of processes; default: one per core.")
]


class Engine(StrEnum):
    """Where a pipeline runs."""

    local = "local"
    spark = "spark"


Evaluating = Annotated[
    Engine, typer.Option(help="Evaluate the parts of the log by processes here, or on Spark.")
]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (run, verify, explain, validate):
        app.command()(command)


def run(
    pipeline: PipelineFile,
    input_: Annotated[
        Path, typer.Option("--input", metavar="EVENTS.jsonl", help="The log, one event per line.")
    ],
    output: Annotated[
        Path,
        typer.Option(metavar="OUT.jsonl", help="Rows; dead letters go to OUT.dead.jsonl."),
    ],
    engine: Annotated[Engine, typer.Option(help="In this process, or on Spark.")] = Engine.local,
    batch_rows: Annotated[
        int, typer.Option(min=1, help="Events per batch; never changes the result.")
    ] = 50_000,
    interleave: Annotated[
        int | None,
        typer.Option(metavar="SEED", help="Shuffle the lanes; never changes the result."),
    ] = None,
) -> None:
    """Run a pipeline over a file of events, and write its rows and dead letters."""
    from chaos.readers.log import read_events
    from windowing.engine.reading import batches as cut
    from windowing.model import load_pipeline
    from windowing.runtime.counts import Counts, check_counts
    from windowing.runtime.output import dead_letter_path, write_output

    inputs = {"the pipeline": pipeline, "--input": input_}
    check_places({"--output": output}, inputs)
    check_places(
        {"the file of dead letters": dead_letter_path(output)}, {**inputs, "--output": output}
    )
    spec = load_pipeline(pipeline)
    check_classes(spec, pipeline)
    entries = cut.checked(read_events(input_, spec.source), spec)
    if interleave is not None:
        entries = cut.interleave(entries, interleave)
    with bar(f"{spec.name} on {engine}") as progress:
        batches = cut.batches(entries, batch_rows, spec)
        counted = progress.track(batches, task_id=progress.task_ids[0])
        if engine is Engine.spark:
            from jobs import file_run

            result = file_run.run(spec, counted)
        else:
            from windowing.runtime import local

            result = local.run(spec, counted)
    # Queries that the log adds come after those of the file.
    names = dict.fromkeys([*(query.name for query in spec.flows), *result.counts])
    counts = {name: result.counts.get(name, Counts()) for name in names}
    for name, found in counts.items():
        check_counts(name, found, result.dead_letters)
    write_output(output, result.rows, result.dead_letters)
    for name, found in counts.items():
        say(f"{name}: {found}")


def verify(
    pipeline: PipelineFile,
    table: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The pipeline's table folder.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="OUT.jsonl as `run` writes it.")
    ] = None,
    postgres: Annotated[
        bool, typer.Option("--postgres", help="The pipeline's PostgreSQL tables; PGHOST, ….")
    ] = False,
    topic: Topic = False,
    input_: LogFile = None,
    run: RunName = None,
    bootstrap: Bootstrap = None,
    since: Since = None,
    until: Where = None,
    engine: Evaluating = Engine.local,
    master: Master = "local[2]",
    memory: Memory = "2GB",
    jobs: Jobs = None,
) -> None:
    """Compare an output with the definition, row by row, and account for every record.

    Without an output and a log, takes those of the pipeline's live run, or of `--run NAME`. A
    run's output is judged by the run's own copy of the file.

    A log of any length is judged in bounded memory, part by part: docs/verify.md says which
    pipelines cannot be divided.

    `--since last` judges only what has come since a run's last verification that passed. While a
    run's job goes on, it is judged by the part of the log that it has committed.
    """
    from chaos.verdict.in_parts import Means
    from slackwater.judged import judged
    from slackwater.since import Log, named_since

    outputs = [table is not None, output is not None, postgres].count(True)
    _check_choice(outputs, [topic, input_ is not None].count(True))
    means = Means(_bytes(memory), jobs or len(os.sched_getaffinity(0)))
    of = judged(pipeline, table, run, is_needed=not outputs, is_file=output is not None)
    if of.first:
        say(f"run {of.name} was begun at {_places(of.pipeline, of.first)}: so is the log here")
    since = named_since(since, of)
    at = committed(
        until, of, of_run=not outputs, is_file=output is not None
    )  # before the tables, which have at least that
    if at is not None:
        say(f"run {of.name} is judged {at}: {_places(of.pipeline, at.ends)}")
    of_run = not (output or input_)
    log = Log(of.pipeline.source, input_, bootstrap, of.first, None if at is None else at.ends)
    with _evaluating(engine, master, means) as means:
        read = partial(_output, table=table, file=output, at=at, postgres=postgres)
        verdict = _judge(of, log, read, means, since, keeps=of_run)
    for line in verdict.lines():
        say(line)
    if of_run:
        of.keep(verdict, *([f"since {since}"] if since else []), *([str(at)] if at else []))
    raise typer.Exit(PASSED if verdict.ok else FAILED)


@contextmanager
def _evaluating(engine: Engine, master: str, means: Means) -> Iterator[Means]:
    """Provide the means with a cluster, if one was asked for."""
    if engine is Engine.local:
        yield means
        return
    from jobs.spread import cluster

    with cluster("slackwater verify", master) as calls:
        yield replace(means, cluster=calls)


def _judge(
    of: Judged,
    log: Log,
    read: Callable[[Judged], Output],
    means: Means,
    since: str | None,
    *,
    keeps: bool,
) -> Verdict:
    """Judge an output by the pipeline that the log makes of the file."""
    from windowing.semantics.changes import Changed
    from windowing.semantics.effective import following

    try:
        return _verdict(of, log, read(of), means, since, keeps=keeps)
    except Changed:
        tell("the log changes the queries, and is read again with them")
        of = replace(of, pipeline=following(of.pipeline, log))
        return _verdict(of, log, read(of), means, since, keeps=keeps)


def _verdict(
    of: Judged, log: Log, found: Output, means: Means, since: str | None, *, keeps: bool
) -> Verdict:
    """Judge an output, as a whole or since a point; keep the point at its end, if all is well."""
    from chaos.verdict.verify import verify as compare
    from chaos.verdict.verify import with_records
    from slackwater.since import LAST, kept_at, point_of

    with bar(f"verify {of.pipeline.name}") as progress, TemporaryDirectory() as folder:
        point = point_of(since, of, log, means, Path(folder))
        log = log if point is None else log.after(point)
        keep = kept_at(of) if keeps and since in (None, LAST) else None
        read = progress.track(log, task_id=progress.task_ids[0])
        verdict = compare(of.pipeline, read, found, means, since=point, keep=keep)
        return with_records(verdict, of.pipeline, log, means, point)


def _output(
    of: Judged, table: Path | None, file: Path | None, at: Committed | None, *, postgres: bool
) -> Output:
    """Read the output from the place given on the command line, or else from the run's sink."""
    from chaos.readers.catalogue import read_output
    from chaos.readers.delta import read_tables
    from chaos.readers.output import read_files
    from chaos.readers.postgres import read_postgres

    if file is not None:
        return read_files(file)
    before = None if at is None else at.batches
    if postgres:
        return read_postgres(of.pipeline, of.name, before=before)
    if table is not None:
        return read_tables(table, of.pipeline, of.name, before=before)
    return read_output(of.pipeline, of.table, of.name, before=before)


_UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def _bytes(size: str) -> int:
    """Return a size in bytes, such as `512MB`.

    Raises:
        Exit: it is not a size.
    """
    number, unit = size[:-2], size[-2:].upper()
    if unit not in _UNITS or not number.isdecimal() or not int(number):
        complain(f"--memory {size!r} is not a size: give a whole number and a unit, like 512MB")
        raise typer.Exit(USAGE)
    return int(number) * _UNITS[unit]


def _check_choice(outputs: int, logs: int) -> None:
    """Check that the user named one output and one log, or neither: a run has both.

    Raises:
        Exit: they were not.
    """
    if outputs > 1:
        complain("give the output as --table DIR, --postgres or --output FILE, one of them")
        raise typer.Exit(USAGE)
    if logs > 1 or (outputs and not logs):
        complain("give the log as --topic or as --input FILE, one of them")
        raise typer.Exit(USAGE)


def _places(spec: Pipeline, first: Mapping[int, int]) -> str:
    return ", ".join(f"{spec.source.lane(lane)} offset {max(at, 0)}" for lane, at in first.items())


def broker(bootstrap: str | None) -> str:
    """Return the broker: the given one, that of the Kafka settings, or the local stack's.

    Args:
        bootstrap: as given; Kafka settings apply to it too.
    """
    from infra import kafka_settings, stack

    if bootstrap is not None:
        return kafka_settings.use_addresses(bootstrap)
    return stack.endpoints(only=["kafka"]).kafka_bootstrap


def explain(
    pipeline: PipelineFile,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the first windows, as .png or .svg; of queries that share slices, the "
            "sliding graph.",
        ),
    ] = None,
    query: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this query, of many.")
    ] = None,
) -> None:
    """Explain what a pipeline means: lanes, windows, evaluation, state, late records."""
    from windowing.engine.plan import plan_of
    from windowing.explain.pipeline import explain as lines
    from windowing.explain.pipeline import explain_one
    from windowing.model import load_pipeline

    check_picture("--picture", picture, {"the pipeline": pipeline})
    spec = load_pipeline(pipeline)
    plan = plan_of(spec)
    for line in lines(plan) if query is None else explain_one(plan, query):
        say(line)
    if picture is not None and plan.families:
        from jobs.tools.slides_picture import draw_slides

        draw_slides(spec, plan.families, picture)
        say(f"the sliding graph: {picture}")
    elif picture is not None:
        from jobs.tools.window_picture import draw_windows

        draw_windows(spec, picture)
        say(f"the first windows: {picture}")


def validate(pipeline: PipelineFile) -> None:
    """Check a pipeline file; every mistake is reported with line, field, rule and example."""
    from windowing.explain.operators import WALL
    from windowing.model import load_pipeline

    spec = load_pipeline(pipeline)
    check_classes(spec, pipeline)
    if spec.quality:
        # This takes a second: Great Expectations checks names and arguments.
        try:
            from chaos.quality import validate as validate_quality
        except ModuleNotFoundError as error:
            if (sentence := remedy(error)) is None:
                raise
            tell(f"its quality block was not looked at: {sentence}")
        else:
            validate_quality(spec, str(pipeline))
    say(f"{pipeline}: pipeline {spec.name} with {len(spec.flows)} queries is valid")
    for query in spec.flows:
        if query.by_wall_clock:
            say(f"query {query.name} is {WALL}")
