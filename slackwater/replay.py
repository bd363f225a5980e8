"""`slackwater replay`: a range of the log again, batched differently, or by a changed pipeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import FAILED, PASSED, USAGE, complain, plain, say, show, tell
from slackwater.ending import when_interrupted
from slackwater.noted import tell_notes, tell_of_verdict
from slackwater.options import As, Engine, check_of_file, stack_for, warn

if TYPE_CHECKING:
    from chaos.readers.output import Output
    from chaos.replay.run import LogRange
    from chaos.verdict.contrast import Contrast
    from windowing.model import Pipeline

_SHOWN = 20


def replay(
    pipeline: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PIPELINE.yml]",
            help="The pipeline file; with --shadow, default: the one of that name in pipelines/.",
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1, help="Number of trials, each batched differently.")
    ] = 3,
    seed: Annotated[int, typer.Option(help="Seed for choosing batches, executors and shards.")] = 1,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="OFFSETS|TIME", help='As {"0": 100}, or an ISO time.'),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="OFFSETS|TIME", help="The first record to leave out."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(help="Production run to compare with; default: the live one."),
    ] = None,
    shadow: Annotated[
        Path | None,
        typer.Option(metavar="NEW.yml", help="Show what this pipeline would change instead."),
    ] = None,
    engine: Annotated[Engine, typer.Option(help="Where to run a shadow.")] = Engine.local,
    input_: Annotated[
        Path | None,
        typer.Option(
            "--input", metavar="EVENTS.jsonl", help="A shadow's log, instead of the topic."
        ),
    ] = None,
    as_: As = None,
    report: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for a shadow's page and JSON.")
    ] = None,
) -> None:
    """Run a range of the log again: batched differently, or with a changed pipeline as a shadow."""
    if shadow is not None:
        check_of_file(input_, as_, end=False)
        old = pipeline or _of_that_name(shadow)
        _shadow(old, shadow, engine, input_, as_, (from_, to), report)
        return
    if pipeline is None:
        complain("give the pipeline file whose topic is to be run again, or --shadow NEW.yml")
        raise typer.Exit(USAGE)
    if input_ is not None or report is not None:
        complain("--input and --report belong to --shadow: trials run on the cluster, from a topic")
        raise typer.Exit(USAGE)
    _trials(pipeline, trials, seed, (from_, to), run)


def _trials(
    pipeline: Path, trials: int, seed: int, range_: tuple[str | None, str | None], run: str | None
) -> None:
    from chaos.replay.run import replay as run_again
    from jobs.runs.choice import meant_or_none
    from jobs.runs.verdicts import Judge, keep_verdict
    from slackwater.options import load_one_topic

    endpoints = stack_for(pipeline, "kafka", "spark")
    production = meant_or_none(endpoints, pipeline, run)
    if production is not None:
        # Rerun its own copy, even if the file has changed since.
        warn(endpoints, production, pipeline)
        pipeline = production.file
    topic = load_one_topic(pipeline).source.topic
    first, end = (_offsets(text, endpoints.kafka_bootstrap, topic) for text in range_)
    left = "a trial's job that is not ended in a second holds the cluster: its page can kill it"
    with when_interrupted(lambda: tell(left)):
        found = run_again(
            pipeline,
            endpoints,
            trials,
            seed=seed,
            first=first,
            end=end,
            production=None if production is None else production.run,
            news=tell,
        )
    for result in found.results:
        say(f"{result.trial}: {result.verdict.lines()[-1]}")
        if not result.verdict.ok:
            for line in result.verdict.lines()[:-1]:
                say(f"  {line}")
    if (output := found.output) is not None:
        tell_of_verdict(load_one_topic(pipeline), found.results[0].verdict, lambda: output)
    sentence = f"{len(found.results)} trials, {'the same' if found.equal else 'different'} bytes"
    say(sentence)
    say(f"production: {found.production or 'nothing was submitted, so there is none to compare'}")
    if production is not None:
        summary = f"{sentence}; production: {found.production}"
        keep_verdict(production, Judge.replay, passed=found.ok, sentence=summary)
    raise typer.Exit(PASSED if found.ok else FAILED)


def _shadow(
    old_file: Path,
    new_file: Path,
    engine: Engine,
    input_: Path | None,
    rows_of: str | None,
    range_: tuple[str | None, str | None],
    report: Path | None,
) -> None:
    from chaos.replay.shadow import shadow, write_shadow
    from chaos.reports.pages import ReportFolderError, claim
    from slackwater.options import load_one_topic
    from windowing.explain.log_notes import nothing_recorded

    if engine is Engine.spark and input_ is not None:
        complain("--engine spark runs a shadow on the cluster, from the topic: take --input out")
        raise typer.Exit(USAGE)
    old, new = load_one_topic(old_file), load_one_topic(new_file)
    if report is not None:
        try:
            claim(report)
        except ReportFolderError as error:
            complain(str(error))
            raise typer.Exit(USAGE) from None
    ranged = _range(old, input_, rows_of, range_)

    def run(pipeline: Pipeline) -> Output:
        file = old_file if pipeline is old else new_file
        tell(f"{file} over {len(ranged.records):,} records")
        return _locally(pipeline, ranged) if engine is Engine.local else _on_cluster(file, ranged)

    found = shadow(old, new, len(ranged.records), run)
    show_contrast(found.windows)
    for line in found.lines():
        say(line)
    tell_notes(nothing_recorded(len(ranged.records), is_empty_range=True))
    if report is not None:
        say(f"report: {write_shadow(found, report)}")
    raise typer.Exit(PASSED)


def _range(
    pipeline: Pipeline,
    input_: Path | None,
    rows_of: str | None,
    range_: tuple[str | None, str | None],
) -> LogRange:
    from chaos.readers.plain_rows import read_input
    from chaos.replay.run import cut_range, read_range

    if input_ is not None:
        first, end = (_offsets(text) for text in range_)
        return cut_range(
            read_input(input_, pipeline.source, rows_of),
            range(pipeline.source.partitions),
            first,
            end,
        )
    from infra import stack

    bootstrap, topic = stack.endpoints(only=["kafka"]).kafka_bootstrap, pipeline.source.topic
    first, end = (_offsets(text, bootstrap, topic) for text in range_)
    return read_range(bootstrap, topic, first, end)


def _locally(pipeline: Pipeline, ranged: LogRange) -> Output:
    from chaos.readers.output import output_of
    from windowing.engine.reading import batches as cut
    from windowing.runtime import local

    result = local.run(pipeline, cut.batches(cut.checked(ranged.records, pipeline), 50_000))
    return output_of(result.rows, result.dead_letters, pipeline.name)


def _on_cluster(file: Path, ranged: LogRange) -> Output:
    from chaos.replay.run import run_once
    from infra import stack

    return run_once(file, stack.endpoints(only=["kafka", "spark"]), ranged)


def show_contrast(windows: Contrast) -> None:
    """Print the first windows that differ, as a table on the terminal."""
    from rich.table import Table

    sides = map(plain, (windows.before, windows.after))
    table = Table("query", "window (UTC)", "key", "", "what", *sides)
    for pair in windows.differing[:_SHOWN]:
        place = (pair.place.query, pair.place.extent, pair.place.key, pair.change.value)
        for name, before, after in pair.differing or [("an earlier revision", "", "")]:
            cells = ("–" if value is None else str(value) for value in (before, after))
            table.add_row(*map(plain, (*place, name, *cells)))
            place = ("", "", "", "")
    if windows.differing:
        show(table, stderr=True)
    if (more := len(windows.differing) - _SHOWN) > 0:
        tell(f"and {more:,} more: --report DIR writes all of them")


def _of_that_name(new_file: Path) -> Path:
    """Find, in the pipelines folder, the file that a changed pipeline would replace."""
    from infra.layout import pipeline_folders
    from windowing.model import PipelineError, load_pipeline

    name, folders = load_pipeline(new_file).name, pipeline_folders()
    for file in (file for folder in folders for file in sorted(folder.glob("*.yml"))):
        try:
            if load_pipeline(file).name == name:
                return file
        except PipelineError as error:
            tell(f"passed over: {error}")
    places = " or ".join(map(str, folders))
    complain(f"no file in {places} is called {name}: name the pipeline as the argument")
    raise typer.Exit(USAGE)


def _offsets(
    text: str | None, bootstrap: str | None = None, topic: str = ""
) -> dict[int, int] | None:
    """Parse offsets per partition from JSON, or look up those of an append time at a broker."""
    from jobs.brokers.topics import offsets_at
    from windowing.model.lengths import instant_us

    if text is None:
        return None
    try:
        if text.lstrip().startswith("{"):
            return {int(lane): int(offset) for lane, offset in json.loads(text).items()}
        if bootstrap is not None:
            return offsets_at(bootstrap, topic, instant_us(text))
    except (ValueError, TypeError) as error:
        msg = f'{text!r} is neither offsets, as {{"0": 100}}, nor an ISO time: {error}'
        raise typer.BadParameter(msg) from None
    msg = f'{text!r}: a file has offsets only, as {{"0": 100}}'
    raise typer.BadParameter(msg)


COMMANDS = (replay,)
