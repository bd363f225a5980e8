"""The commands `queries list`, `add` and `remove`: queries of a running pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slackwater.console import err, say
from slackwater.options import OptionalRun, PipelineFile, broker, stack_for, what_is_up

if TYPE_CHECKING:
    from jobs.runs import Run

queries = typer.Typer(
    help="Queries of a running pipeline: they join and leave by control records in its log.",
    no_args_is_help=True,
)

Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Wait until the run has read the change.")
]
Bootstrap = Annotated[str | None, typer.Option(help="Broker; default: the local stack's.")]
_PATIENCE_S = 300.0


@queries.command(name="list")
def show(pipeline: PipelineFile, run: OptionalRun = None) -> None:
    """List a run's queries: those of the file, and what its log has added or removed."""
    from jobs.runs.choice import meant
    from windowing.model import Query
    from windowing.model.lengths import spell_instant

    found = meant(what_is_up(), pipeline, run)
    for flow in found.own_pipeline().of(Query):
        active, parts = flow.window.active, []
        if active is not None and active.begins_us is not None:
            parts.append(f"from {spell_instant(active.begins_us)}")
        if active is not None and active.until_us is not None:
            parts.append(f"until {spell_instant(active.until_us)}")
        if active is not None and active.joined is not None:
            parts.append("added by the log")
        if active is not None and active.lacking:
            parts.append(f"no rows: {', '.join(active.lacking)} did not take it")
        say(f"{flow.name}: {', '.join(parts) or 'always'}")
    for name, conflict in found.own_pipeline().conflicts.items():
        lanes = ", ".join(f"{lane} offset {own.at}" for lane, own in conflict.items())
        say(f"{name}: no rows: lanes have added different queries of this name: {lanes}")
    for name in found.own_pipeline().forgotten:
        say(f"{name}: forgotten: no change of it is taken from the log")


@queries.command()
def add(
    pipeline: PipelineFile,
    added: Annotated[
        Path,
        typer.Argument(
            metavar="QUERIES.yml",
            help="`queries:` as in a pipeline file, each with from; or an edited pipeline file.",
            show_default=False,
        ),
    ],
    run: OptionalRun = None,
    bootstrap: Bootstrap = None,
    wait: Wait = True,
) -> None:
    """Add queries to a running pipeline; each has a `from` beyond all that the run has read."""
    from jobs.runs.changing import costs
    from jobs.runs.choice import meant
    from windowing.model.file.asked import read_asked
    from windowing.model.lengths import spell_instant

    found = meant(stack_for(pipeline, "kafka"), pipeline, run)
    asked = read_asked(added, found.own_pipeline())
    found = _believing(found, pipeline)
    described = costs(found, asked)
    for name, query in asked.items():
        say(f"{name}: windows from {spell_instant(query['from'])} on; {described[name]}")
    _change(found, {"add": asked}, bootstrap, wait=wait)


@queries.command()
def remove(
    pipeline: PipelineFile,
    name: Annotated[str, typer.Argument(help="The query.", show_default=False)],
    until: Annotated[
        str, typer.Option(metavar="TIME", help="By then its last window ends: 2026-12-01T00:00Z.")
    ],
    run: OptionalRun = None,
    bootstrap: Bootstrap = None,
    wait: Wait = True,
) -> None:
    """Let a query of a running pipeline end; its table stays."""
    from jobs.runs.choice import meant
    from windowing.model import Query
    from windowing.model.windows.activity import parse_moment

    found = meant(stack_for(pipeline, "kafka"), pipeline, run)
    known = [flow.name for flow in found.own_pipeline().of(Query)]
    if name not in known:
        msg = f"run {found.run} has no query {name}: it has {', '.join(known)}"
        raise typer.BadParameter(msg)
    try:
        until_us = parse_moment(until)
    except ValueError as error:
        msg = f"--until: {error}"
        raise typer.BadParameter(msg) from None
    found = _believing(found, pipeline)
    _change(found, {"remove": {name: until_us}}, bootstrap, wait=wait)


@queries.command()
def forget(
    pipeline: PipelineFile,
    names: Annotated[list[str], typer.Argument(help="The queries.", show_default=False)],
    run: OptionalRun = None,
) -> None:
    """Let a stopped run pass over changes of some names in its log, as dead letters.

    For a run that cannot go on with a change, such as one whose table is there with other columns.
    """
    from jobs.deployment.believing import forget_queries
    from jobs.runs.choice import meant, one_at_a_time

    endpoints = stack_for(pipeline)
    found = meant(endpoints, pipeline, run)
    with one_at_a_time(endpoints, found.pipeline), err().status("converting the run's state"):
        forget_queries(found, names)
    say(
        f"run {found.run} takes no change of {', '.join(names)} from its log: each is a dead "
        f"letter, not_allowed; `slackwater start {pipeline} --run {found.run}` goes on with it"
    )


def _believing(run: Run, file: Path) -> Run:
    """Return a run that believes changes of its queries, after making it so."""
    from jobs.deployment.believing import believe_changes

    rule = run.own_pipeline().source.control
    if not run.own_pipeline().query_files or rule.believe == "all":
        return run
    say(
        f"run {run.run} believes no changes of its queries (source.control: {rule.believe}): it is "
        "given control: all, for which a job that lives is stopped, and goes on; whoever may write "
        "to the topic can change its queries from now on"
    )
    with err().status("converting the run's state"):
        run = believe_changes(stack_for(file, "kafka", "spark"), run)
    say(f"write control: all under source in {file} as well, so that it is what the run is")
    return run


def _change(run: Run, queries: Mapping[str, Any], bootstrap: str | None, *, wait: bool) -> None:
    from jobs.runs.changing import await_change, write_change

    change = write_change(run, broker(bootstrap), queries)
    places = ", ".join(f"{lane} offset {offset}" for lane, offset in change.copies.items())
    say(f"written: {places}")
    if wait:
        await_change(change, _PATIENCE_S)
        say(f"run {run.run} goes on with it")
