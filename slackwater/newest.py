"""`slackwater newest`: the newest revision of each window, as a flat file for any tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.chosen import OptionalRun, chosen, stack_for
from slackwater.console import say
from slackwater.files import PipelineFile
from slackwater.places import check_places

if TYPE_CHECKING:
    from windowing.model import Pipeline
    from windowing.model.query import Flow


def register(app: typer.Typer) -> None:
    """Add `newest`."""
    app.command()(newest)


def newest(
    pipeline: PipelineFile,
    run: OptionalRun = None,
    query: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Queries; default: all.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="One query's rows, as .parquet, .csv or .jsonl; else JSON here."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Every revision, not only the newest.")
    ] = False,
    last: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only the last N rows of each query.")
    ] = None,
) -> None:
    """Show the newest revision of each window of a run, with key fields and values as columns."""
    from jobs.tools.results import format_of, lines, of_run, write
    from windowing.runtime.newest import check_named

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
            for line in lines(rows if last is None else rows.tail(last)):
                say(line)
        return
    one = _single(queries)
    rows = of_run(found.table / spec.table_of(one.name), found.run, one, history=all_)
    rows = rows if last is None else rows.tail(last)
    write(output, rows)
    say(f"{len(rows):,} rows of query {one.name}, run {found.run}, written to {output}")


def _check_sink(spec: Pipeline) -> None:
    """Refer users of a database sink to their database.

    Raises:
        BadParameter: they are.
    """
    from windowing.spark.sinks import sink_of

    if (elsewhere := sink_of(spec).newest(spec)) is not None:
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
