"""Commands over runs: runs, start, stop."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from slackwater import answers
from slackwater.chosen import OptionalRun, stack_for, warn, what_is_up
from slackwater.console import err, plain, say, tell
from slackwater.files import PipelineFile

if TYPE_CHECKING:
    from jobs.runs.overview import Overview
    from jobs.runs.verdicts import Verdict

_COLOURS = {
    "running": "green",
    "finished": "green",
    "failed": "bold red",
    "restarting": "yellow",
    "waiting": "yellow",
}
_WIDTH = 120
"""Width in characters, if there is no terminal."""


def register(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (runs, start, stop):
        app.command()(command)


def runs(
    pipeline: Annotated[
        Path | None,
        typer.Argument(metavar="[PIPELINE.yml]", help="One pipeline; default: all."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object per line, for scripts.")
    ] = False,
) -> None:
    """Show every run: state and reason, which one is live, how far it is, its last verdicts."""
    from jobs.runs.choice import name_in
    from jobs.runs.overview import overview, pipelines_with_runs

    endpoints = what_is_up()
    names = pipelines_with_runs(endpoints) if pipeline is None else [name_in(endpoints, pipeline)]
    found = [one for name in names for one in overview(endpoints, name, pipeline)]
    if as_json:
        for one in found:
            say(json.dumps(one.as_json()))
    elif found:
        _show(found)
    else:
        whose = "no pipeline has a run" if pipeline is None else f"pipeline {names[0]} has no run"
        tell(f"{whose} yet: `slackwater submit FILE --run NAME` begins one")


def start(pipeline: PipelineFile, run: OptionalRun = None) -> None:
    """Resume a run from its checkpoint, with its own copy of the file."""
    from jobs import runs as begun
    from jobs.runs.choice import meant
    from jobs.runs.overview import page_now

    endpoints = stack_for(pipeline, "kafka", "spark")
    found = meant(endpoints, pipeline, run)
    warn(endpoints, found, pipeline)
    begun_again = begun.start(endpoints, found)
    say(json.dumps(answers.submission(begun_again, page_now(endpoints, begun_again))))


def stop(
    pipeline: PipelineFile,
    run: OptionalRun = None,
    every: Annotated[
        bool, typer.Option("--all", help="All of the pipeline's runs that have a job.")
    ] = False,
) -> None:
    """Stop a run's job; its checkpoint stays, and `start` resumes from there."""
    from jobs import runs as begun
    from jobs.runs.choice import meant_or_none, name_in

    endpoints = stack_for(pipeline, "spark")
    name = name_in(endpoints, pipeline)
    if every:
        stopped = begun.stop_all(endpoints, name)
    else:
        found = meant_or_none(endpoints, pipeline, run)
        stopped = [] if found is None else begun.stop_run(endpoints, found)
    say(f"stopped: {', '.join(stopped) or 'nothing was running'}")
    others = begun.living(endpoints, name)
    if others:
        tell(
            f"{', '.join(others)} of pipeline {name} goes on: `--run NAME` or `--all` ends it, too"
        )


def _show(found: list[Overview]) -> None:
    """Print a table that fits a narrow terminal, and sentences below it."""
    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("pipeline", "run", "state"):
        table.add_column(title, overflow="fold")
    for title in ("batches", "behind"):
        table.add_column(title, justify="right", no_wrap=True)
    for title in ("since", "verify", "quality"):
        table.add_column(title, overflow="fold")
    for one in found:
        table.add_row(*_row(one))
    width = None if err.is_terminal else _WIDTH
    Console(highlight=False, markup=False, emoji=False, width=width).print(table)
    for one in found:
        for sentence in _sentences(one):
            say(f"{one.run.pipeline} {one.run.run}: {sentence}")


def _row(one: Overview) -> list[str | Text]:
    state = one.life.state
    live = Text.assemble(plain(one.run.run), (" (live)" if one.live else "", "bold"))
    restarts = f", died {one.restarts}×" if one.restarts else ""
    return [
        plain(one.run.pipeline),
        live,
        Text(f"{state}{restarts}", _COLOURS.get(state, "")),
        f"{one.batches:,}",
        "?" if one.behind is None else f"{one.behind:,}",
        _ago(one.run.submitted_at),
        _passed(one.last_verify),
        _passed(one.last_quality),
    ]


def _ago(at: datetime) -> str:
    """Format the age of a time for people."""
    seconds = max(0.0, (datetime.now(UTC) - at).total_seconds())
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _passed(verdict: Verdict | None) -> Text:
    if verdict is None:
        return Text("-", "dim")
    age = _ago(datetime.fromisoformat(verdict.at))
    return Text(
        f"{'ok' if verdict.passed else 'FAILED'}, {age} ago", "" if verdict.passed else "red"
    )


def _sentences(one: Overview) -> list[str]:
    """List the details that do not fit into the table."""
    said = [one.life.why] if one.life.why else []
    for name, verdict in (("verify", one.last_verify), ("quality", one.last_quality)):
        if verdict is not None and not verdict.passed:
            said.append(f"{name}: {verdict.sentence}")
    if one.file_differs:
        said.append(f"the file differs from the run's own copy: {'; '.join(one.file_differs)}")
    return said
