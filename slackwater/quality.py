"""The command `quality`: check a run's output, or show what earlier checks found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from slackwater import answers
from slackwater.console import FAILED, PASSED, plain, say, show, tell
from slackwater.judged import cut_of, is_alive, places
from slackwater.noted import tell_notes
from slackwater.options import As, End, OptionalRun, PipelineFile, check_of_file, chosen, stack_for
from slackwater.places import check_picture

if TYPE_CHECKING:
    from chaos.quality import QualityReport
    from chaos.quality.results import HistoryEntry


def quality(
    pipeline: PipelineFile,
    run: OptionalRun = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object, for scripts; the lines go to stderr.")
    ] = False,
    history: Annotated[
        bool,
        typer.Option("--history", help="Check nothing; show what the run's checks have found."),
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the history over time: a .png or .svg."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="OUT.jsonl", help="Check the output of `run` instead of a job's run."),
    ] = None,
    input_: Annotated[
        Path | None,
        typer.Option("--input", metavar="EVENTS.jsonl", help="The log of --output; or see --as."),
    ] = None,
    as_: As = None,
    end: End = False,
) -> None:
    """Check a run's window outputs with Great Expectations, and build the Data Docs.

    A run is judged up to the last batch that it has committed, whatever comes meanwhile.
    """
    check_of_file(input_, as_, end=end)
    if history or picture is not None:
        if not history or output is not None or input_ is not None:
            msg = "--picture belongs to --history, which takes neither --output nor --input"
            raise typer.BadParameter(msg)
        check_picture("--picture", picture, {"the pipeline": pipeline})
        _show_history(pipeline, run, picture, as_json=as_json)
    if output is not None or input_ is not None:
        _quality_of_file(pipeline, output, input_, as_, ended=end)
    _quality_of_run(pipeline, run, as_json=as_json)


def _quality_of_run(pipeline: Path, run: str | None, *, as_json: bool) -> NoReturn:
    from chaos.quality.results import keep
    from chaos.quality.run import check
    from chaos.readers.catalogue import takes_before
    from chaos.readers.log import behind
    from chaos.readers.topic import read_topics
    from infra.layout import Layout
    from jobs.runs.verdicts import Judge, keep_verdict

    endpoints = stack_for(pipeline, "kafka")
    of, spec = chosen(endpoints, pipeline, run)
    at, first = cut_of(of, spec), of.options.first
    # What a job that has ended was killed at is left out, too, if the sink's reader can.
    before = at.batches if takes_before(spec.destination.kind) or is_alive(of) else None
    (tell if as_json else say)(f"run {of.run} is judged {at}: {places(spec, at.ends)}")
    report = check(
        spec,
        of.table,
        of.run,
        behind(
            spec.source, read_topics(endpoints.kafka_bootstrap, spec.source, first, at.ends), first
        ),
        Layout(endpoints.state_dir).quality / spec.name,
        before=before,
    )
    keep(report, of.folder)
    _list(report, to_stderr=as_json)
    sentence = f"{report.sentence}; {at}"
    keep_verdict(of, Judge.quality, passed=report.success, sentence=sentence)
    if as_json:
        say(json.dumps(answers.quality(report, of.run)))
    if not report.success:
        tell(report.sentence)
    raise typer.Exit(PASSED if report.success else FAILED)


def _quality_of_file(
    file: Path, output: Path | None, input_: Path | None, rows_of: str | None, *, ended: bool
) -> NoReturn:
    """Check the output file of `run`, and build the Data Docs next to it."""
    from chaos.quality.run import check_file
    from slackwater.verify import Log
    from windowing.model import load_pipeline

    if output is None or input_ is None:
        msg = "give --output OUT.jsonl and the --input EVENTS.jsonl that it was made of, both"
        raise typer.BadParameter(msg)
    spec = load_pipeline(file)
    log = list(Log(spec.source, input_, None, None, ended=ended, rows_of=rows_of))
    report = check_file(spec, output, log, output.with_suffix(".quality"))
    _list(report, to_stderr=False)
    raise typer.Exit(PASSED if report.success else FAILED)


def _list(report: QualityReport, *, to_stderr: bool) -> None:
    if not report.rows:
        tell_notes(["no row was judged: the run has none yet; `slackwater overview` says why"])
    lines = tell if to_stderr else say
    for result in report.results:
        mark = "ok  " if result.success else "FAIL"
        lines(f"{mark} {result.query or '-':<12} {result.expectation}  {result.detail}")
    lines(f"Data Docs: {report.docs_index}")


def _show_history(
    pipeline: Path, run: str | None, picture: Path | None, *, as_json: bool
) -> NoReturn:
    """Show what the checks of a run have found, which needs no running stack."""
    from chaos.quality.results import history
    from infra import stack
    from jobs.runs.choice import check_name_in, meant

    check_name_in(pipeline)
    of = meant(stack.endpoints(only=[], check=False), pipeline, run)
    found = history(of.folder)
    if not found:
        tell(f"run {of.run} was not checked yet: `slackwater quality {pipeline}` does")
    elif picture is not None:
        from chaos.quality.picture import draw

        draw(found, picture)
        tell(f"{picture}: {len(found)} results of {len({one.at for one in found})} checks")
    if as_json:
        say(json.dumps([asdict(one) for one in found]))
    elif found:
        _table(found)
    raise typer.Exit(PASSED)


def _table(found: Sequence[HistoryEntry]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in ("query", "expectation", "met", "last not met", "last check", "observed"):
        table.add_column(column, overflow="fold" if column == "observed" else "ellipsis")
    for name in dict.fromkeys((one.query, one.expectation, one.threshold) for one in found):
        own = [one for one in found if (one.query, one.expectation, one.threshold) == name]
        wrong = [one.at for one in own if not one.passed]
        query, expectation, threshold = name
        cells = (
            query,
            f"{expectation} ({threshold})" if threshold else expectation,
            f"{len(own) - len(wrong)} of {len(own)}",
            wrong[-1] if wrong else "-",
            f"{own[-1].at} {'ok' if own[-1].passed else 'FAIL'}",
            own[-1].observed or "-",
        )
        table.add_row(*(Text(plain(cell)) for cell in cells))
    show(table)


COMMANDS = (quality,)
