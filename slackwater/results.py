"""Commands over results: newest, dead, plot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE
from rich.table import Table

from slackwater.console import USAGE, bar, complain, err, plain, say, show
from slackwater.noted import tell_of_tables
from slackwater.options import As, OptionalRun, PipelineFile, chosen, stack_for
from slackwater.places import check_picture, check_places

if TYPE_CHECKING:
    import polars as pl

    from jobs.tools.dead_letters import Letter, Letters, Reason
    from windowing.model import Pipeline
    from windowing.model.query import Flow

_ROWS_SHOWN = 20


def newest(
    pipeline: PipelineFile,
    run: OptionalRun = None,
    query: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Queries; default: all.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="One query's rows, as .parquet, .csv or .jsonl, instead of here."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Every revision, not only the newest.")
    ] = False,
    last: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Only the last N rows of each query; of a table by default 20."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="All columns, one JSON object per row, for programs.")
    ] = False,
) -> None:
    """Show the newest revision of each window of a run, with key fields and values as columns."""
    from jobs.tools.results import format_of, lines, of_run, write
    from windowing.runtime.latest import check_named

    if output is not None:
        format_of(output)
        check_places({"--output": output}, {"the pipeline": pipeline})
        if output.exists() and not force:
            msg = f"--output {output} is there already: name another file, or replace it by --force"
            raise typer.BadParameter(msg)
    found, spec = chosen(stack_for(pipeline), pipeline, run)
    _check_sink(spec)
    queries = check_named(spec, query or ())
    if output is None:
        for one in queries:
            rows = of_run(found.table / spec.table_of(one.name), found.run, one, history=all_)
            if not len(rows):
                tell_of_tables(spec, found, [one.name])
            if as_json:
                for line in lines(rows if last is None else rows.tail(last)):
                    say(line)
            else:
                _show_rows(rows, rows.tail(last or _ROWS_SHOWN), f"{one.name}, run {found.run}")
        return
    one = _single(queries)
    rows = of_run(found.table / spec.table_of(one.name), found.run, one, history=all_)
    rows = rows if last is None else rows.tail(last)
    write(output, rows)
    if not len(rows):
        tell_of_tables(spec, found, [one.name])
    say(f"{len(rows):,} rows of query {one.name}, run {found.run}, written to {output}")


def _show_rows(rows: pl.DataFrame, shown: pl.DataFrame, title: str) -> None:
    from jobs.tools.results import columns_of

    columns = columns_of(shown)
    table = Table(title=plain(title), title_justify="left", box=SIMPLE, pad_edge=False)
    for name in columns:
        table.add_column(plain(name))
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*map(plain, cells))
    show(table)
    if len(shown) < len(rows):
        say(f"the last {len(shown):,} of {len(rows):,} rows: --last N, --json or --output has more")


def _check_sink(spec: Pipeline) -> None:
    """Refer users of a database sink to their database.

    Raises:
        BadParameter: they are.
    """
    from windowing.spark.sinks import sink_of

    if (elsewhere := sink_of(spec).latest(spec)) is not None:
        raise typer.BadParameter(elsewhere)


def _single(queries: list[Flow]) -> Flow:
    """Return the one query whose rows go to a file.

    Raises:
        BadParameter: there are several.
    """
    if len(queries) != 1:
        names = " or ".join(f"--query {query.name}" for query in queries) or "a query"
        msg = f"a file holds the rows of one query, which have the same columns: give {names}"
        raise typer.BadParameter(msg)
    return queries[0]


def dead(
    pipeline: PipelineFile,
    run: OptionalRun = None,
    reason: Annotated[
        str | None, typer.Option(metavar="REASON", help="Only this reason, such as bad_type.")
    ] = None,
    examples: Annotated[int, typer.Option(min=0, help="Examples per reason, at most.")] = 3,
    output: Annotated[
        Path | None,
        typer.Option(metavar="OUT.jsonl", help="As `run` wrote it, instead of a run's tables."),
    ] = None,
    input_: Annotated[
        Path | None,
        typer.Option("--input", metavar="EVENTS.jsonl", help="With --output: its log."),
    ] = None,
    as_: As = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per reason.")] = False,
) -> None:
    """Show a run's dead letters by reason: how many, examples, what to do."""
    from jobs.tools.dead_letters import by_reason

    if (output is None) != (input_ is None) or (output is not None and run is not None):
        complain("give --output OUT.jsonl with --input EVENTS.jsonl, or neither and a run's name")
        raise typer.Exit(USAGE)
    if output is not None and input_ is not None:
        spec, (letters, read) = _in_files(pipeline, output, input_, as_)
    else:
        spec, (letters, read) = _in_tables(pipeline, run)
    reasons = by_reason(letters, read, examples, spec.source.parts[0])
    if reason is not None:
        known = ", ".join(one.reason for one in reasons) or "none"
        reasons = [one for one in reasons if one.reason == reason]
        if not reasons:
            complain(f"--reason {reason}: no dead letter has it; those that there are: {known}")
            raise typer.Exit(USAGE)
    for line in (one.as_json() for one in reasons) if as_json else _lines(reasons, read):
        say(line)


def _in_files(
    file: Path, output: Path, input_: Path, rows_of: str | None
) -> tuple[Pipeline, Letters]:
    from chaos.readers.plain_rows import read_input
    from jobs.tools.dead_letters import in_files
    from windowing.model import load_pipeline
    from windowing.runtime.output import dead_letter_path

    spec = load_pipeline(file)
    with bar("reading") as shown:
        log = shown.track(read_input(input_, spec.source, rows_of), task_id=shown.task_ids[0])
        return spec, in_files(spec, dead_letter_path(output), log)


def _in_tables(file: Path, run: str | None) -> tuple[Pipeline, Letters]:
    from chaos.readers.catalogue import read_output
    from jobs.tools.dead_letters import letters_of, of_lines

    found, spec = chosen(stack_for(file), file, run)
    known = letters_of(spec, found.table, found.run)
    if known is not None:
        return spec, known
    output = read_output(spec, found.table, found.run)
    return spec, (of_lines((line for _, line in output.dead), output.name), None)


def _lines(reasons: list[Reason], read: int | None) -> Iterator[str]:
    of_all = "" if read is None else f" of {read:,} records read"
    if not reasons:
        yield f"no dead letters{of_all}"
    for one in reasons:
        share = "" if one.share is None else f", {_share(one.share)}{of_all}"
        letters = "" if one.letters == one.records else f" in {one.letters:,} dead letters"
        yield f"{one.reason}: {one.records:,} records{letters}{share}"
        for letter in one.examples:
            yield f"  {_example(letter)}"
        if (more := one.letters - len(one.examples)) > 0:
            yield f"  and {more:,} more"
        yield f"  what to do: {one.do}"


def _share(share: float) -> str:
    return f"{share:.2%}" if share >= 0.0001 else "under 0.01%"


def _example(letter: Letter) -> str:
    about = "" if letter.query is None else f", query {letter.query}"
    name = "" if letter.field is None else f"{letter.field} "
    value = "" if letter.value is None else f"{name}{letter.value}"
    said = f": {value or name.strip() or 'no value'}"
    rule = "" if letter.rule is None else f" ({letter.rule})"
    return f"{letter.source}/{letter.partition} offset {letter.offset}{about}{said}{rule}"


def plot(
    pipeline: PipelineFile,
    png: Annotated[
        Path, typer.Option(metavar="FILE.png", help="The picture; .svg is drawn as well.")
    ],
    run: OptionalRun = None,
    query: Annotated[
        str | None, typer.Option(metavar="NAME", help="Its query; default: the first with windows.")
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Its aggregate; default: the first that is no count."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="OUT.jsonl", help="As `run` wrote it, instead of a run's rows."),
    ] = None,
) -> None:
    """Draw an aggregate by key over time, and mark the windows that late records revised."""
    from chaos.readers.catalogue import read_output
    from chaos.readers.output import read_files
    from jobs.tools.plot import plot as draw
    from windowing.model import load_pipeline

    check_picture("--png", png, {"the pipeline": pipeline, "--output": output})
    if output is not None and run is not None:
        msg = "--output is a file, and --run names a run's tables: give one of them"
        raise typer.BadParameter(msg)
    if output is not None:
        spec, found = load_pipeline(pipeline), read_files(output)
    else:
        of, spec = chosen(stack_for(pipeline), pipeline, run)
        found = read_output(spec, of.table, of.run)
    one = _flow(spec, query)
    with err().status("drawing"):
        drawn = draw(spec, one, (json.loads(line) for _, line in found.rows), png, value)
    say(
        f"{png}: {drawn.value} of {one.name}, {drawn.windows:,} windows that end from "
        f"{drawn.start} to {drawn.end}, {drawn.revised:,} of them revised"
    )
    if drawn.left_out:
        say(f"{drawn.left_out:,} windows, of other keys or times, would not fit into it")


def _flow(spec: Pipeline, name: str | None) -> Flow:
    """Return the query of a name, or the first with windows.

    Raises:
        BadParameter: there is no such query.
    """
    windowed = [one for one in spec.flows if one.window is not None]
    for one in [*windowed, *spec.flows]:
        if name in (None, one.name):
            return one
    known = ", ".join(one.name for one in spec.flows)
    msg = f"--query {name}: pipeline {spec.name} has no such query, but {known}"
    raise typer.BadParameter(msg)


COMMANDS = (newest, dead, plot)
