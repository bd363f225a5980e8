"""Commands over a pipeline file: run, explain, validate, check-aggregate."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import FAILED, bar, say, tell
from slackwater.limited import check_classes
from slackwater.noted import (
    tell_of_file,
    tell_of_run,
    tell_of_topics,
    tell_of_zones,
    tell_redelivered,
    waiting_of,
)
from slackwater.options import As, End, Engine, LogFile, PipelineFile
from slackwater.places import check_picture, check_places
from slackwater.rooms import remedy

if TYPE_CHECKING:
    from chaos.order_freedom import CounterExample, StateChange
    from chaos.readers.lane_order import LaneOrder
    from chaos.readers.log import LogRecord
    from jobs.tools.times_seen import Batch, Times
    from windowing.model import Pipeline
    from windowing.model.fates import Counts
    from windowing.model.types import Kind
    from windowing.runtime.local import LocalEngine, Output


def run(
    pipeline: PipelineFile,
    input_: LogFile,
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
    as_: As = None,
    end: End = False,
    explain_dead: Annotated[
        bool,
        typer.Option(
            "--explain-dead", help="Write field, value and rule into OUT.dead.jsonl, too."
        ),
    ] = False,
) -> None:
    """Run a pipeline over a file of events, and write its rows and dead letters."""
    from chaos.readers.lane_order import LaneOrder
    from jobs.tools.times_seen import Times, seen
    from windowing.engine.reading import batches as cut
    from windowing.model import load_pipeline
    from windowing.model.fates import Counts
    from windowing.runtime.output import check_counts, dead_letter_path, write_output

    inputs = {"the pipeline": pipeline, "--input": input_}
    check_places({"--output": output}, inputs)
    check_places(
        {"the file of dead letters": dead_letter_path(output)}, {**inputs, "--output": output}
    )
    spec = load_pipeline(pipeline)
    check_classes(spec, pipeline)
    order = LaneOrder()
    entries = cut.checked(_read(spec, input_, as_, order, end=end), spec)
    if interleave is not None:
        entries = cut.interleave(entries, interleave)
    times = Times()
    with bar(f"{spec.name} on {engine}") as progress:
        batches = seen(spec, cut.batches(entries, batch_rows, spec), times)
        counted = progress.track(batches, task_id=progress.task_ids[0])
        result, local_engine = _ran(spec, counted, engine)
    # Queries that the log adds come after those of the file.
    names = dict.fromkeys([*(query.name for query in spec.flows), *result.counts])
    counts = {name: result.counts.get(name, Counts.of(spec.source.fates)) for name in names}
    for name, found in counts.items():
        check_counts(name, found, result.dead_letters)
    write_output(output, result.rows, result.dead_letters, result.details if explain_dead else None)
    for name, found in counts.items():
        say(f"{name}: {found}")
    tell_redelivered(order)
    _tell_of(spec, result, counts, times, local_engine)


def _read(
    spec: Pipeline, file: Path, topic: str | None, order: LaneOrder, *, end: bool
) -> Iterable[LogRecord]:
    from chaos.readers.lane_ends import with_ends
    from chaos.readers.plain_rows import read_input

    log = read_input(file, spec.source, topic, order=order)
    return with_ends(spec.source, log) if end else log


def _ran(
    spec: Pipeline, batches: Iterable[Batch], engine: Engine
) -> tuple[Output, LocalEngine | None]:
    """Run a pipeline over batches; return the engine, too, if it is in this process."""
    if engine is Engine.spark:
        from jobs import file_run

        return file_run.run(spec, batches), None
    from windowing.runtime.local import LocalEngine

    local_engine = LocalEngine(spec)
    for batch in batches:
        local_engine.feed(batch)
    return local_engine.output, local_engine


def _tell_of(
    spec: Pipeline,
    result: Output,
    counts: Mapping[str, Counts],
    times: Times,
    engine: LocalEngine | None,
) -> None:
    spec = spec if engine is None else engine.pipeline
    tell_of_file(spec)
    tell_of_run(spec, result, counts, times, waiting_of(spec, engine, result.lanes, times))


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
    from windowing.explain.calendar import next_edges
    from windowing.explain.pipeline import explain as lines
    from windowing.explain.pipeline import explain_one
    from windowing.model import load_pipeline

    check_picture("--picture", picture, {"the pipeline": pipeline})
    spec = load_pipeline(pipeline)
    plan = plan_of(spec)
    for line in lines(plan) if query is None else explain_one(plan, query):
        say(line)
    asked = [flow for flow in spec.flows if query in (None, flow.name)]
    for line in next_edges(asked, time_ns() // 1_000):
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
    from windowing.model import PipelineError, load_pipeline

    spec = load_pipeline(pipeline)
    problems = []
    try:
        check_classes(spec, pipeline)
    except PipelineError as error:
        problems += error.problems
    if spec.tests:
        from chaos.file_tests.reading import read_tests

        try:
            read_tests(spec, pipeline)
        except PipelineError as error:
            problems += error.problems
    if spec.quality:
        from chaos.quality import validate as validate_quality

        try:
            validate_quality(spec, str(pipeline))
        except PipelineError as error:
            problems += error.problems
        except ModuleNotFoundError as error:
            if (sentence := remedy(error)) is None:
                raise
            tell(f"its quality block was not looked at: {sentence}")
    if problems:
        raise PipelineError(problems)
    many = f"{len(spec.flows)} quer{'y' if len(spec.flows) == 1 else 'ies'}"
    say(f"{pipeline}: pipeline {spec.name} with {many} is valid")
    tell_of_file(spec)
    tell_of_zones(spec)
    tell_of_topics(spec)
    for query in spec.flows:
        if query.by_wall_clock:
            from windowing.explain.operators import WALL

            say(f"query {query.name} is {WALL}")


def check_aggregate(
    reference: Annotated[
        str, typer.Argument(metavar="MODULE:CLASS", help="The class.", show_default=False)
    ],
    takes: Annotated[
        list[str] | None,
        typer.Option(
            help="Type of a field of update: int, float, string; default: from its annotations."
        ),
    ] = None,
    attempts: Annotated[int, typer.Option(min=1, help="How many ways of merging to try.")] = 2000,
    within: Annotated[
        float,
        typer.Option(
            min=1,
            max=86_400,
            metavar="SECONDS",
            help="Time limit; a class that takes longer fails.",
        ),
    ] = 120,
    against: Annotated[
        str | None,
        typer.Option(metavar="OLD", help="An old version: its FILE.py, or MODULE:CLASS."),
    ] = None,
) -> None:
    """Search for records for which the result of a user's aggregate depends on merge order.

    With --against, also for records of which an old version makes other states: without any, a run
    that was begun with it can continue with the class.
    """
    from slackwater.limited import limited
    from windowing.model.types import parse_field_type

    reference = reference.removeprefix("python:")
    try:
        asked = [parse_field_type(name).kind for name in takes or ()]
    except ValueError as error:
        msg = f"--takes {error}"
        raise typer.BadParameter(msg) from None
    what = f"python:{reference}"
    kinds, found, states = limited(within, what, _search, reference, asked, attempts, against)
    if found is None:
        say(f"{reference}: no counter-example in {attempts} attempts with {', '.join(kinds)}")
        if against is not None:
            say(
                f"{reference}: its states are those of {against}: give the class states = "
                f'"{states}", and a run that was begun with the old version continues'
            )
        return
    say(f"{reference}: {found.verdict}")
    for line in found.lines():
        say(line)
    raise typer.Exit(FAILED)


def _search(
    reference: str, kinds: Sequence[Kind], attempts: int, against: str | None
) -> tuple[Sequence[Kind], CounterExample | StateChange | None, str | None]:
    """Return the types of the fields, what was found, and what an old version's states are."""
    from hypothesis import configuration

    from chaos.order_freedom import changed_states, counter_example, kinds_of, old_version

    with tempfile.TemporaryDirectory() as folder:
        # Otherwise it would write files into the working directory.
        configuration.set_hypothesis_home_dir(folder)
        taken = kinds or kinds_of(reference)
        found: CounterExample | StateChange | None
        found = counter_example(reference, taken, attempts=attempts)
        if found is not None or against is None:
            return taken, found, None
        old, states = old_version(reference, against)
        return taken, changed_states(reference, old, taken, attempts=attempts), states


COMMANDS = (run, explain, validate, check_aggregate)
