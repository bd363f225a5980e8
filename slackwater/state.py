"""The command `state`: the state of a run, lane by lane and shard by shard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from slackwater.chosen import OptionalRun, chosen, stack_for
from slackwater.console import USAGE, complain, err, plain, say
from slackwater.files import PipelineFile

_ROWS_SHOWN = 10
_WIDTH = 200
"""Width in characters, if there is no terminal."""
_LEAST_US = -(2**63)
_ENDED_US = 2**63 - 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(state)


def state(
    pipeline: PipelineFile,
    run: OptionalRun = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A checkpoint, instead of a run.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(min=0, help="As of the end of this batch; default: the newest.")
    ] = None,
    part: Annotated[
        str | None, typer.Option(help="Only one lane or shard, as in --part 'shard 3'.")
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="As this many shards would hold it: whether more of them would spread the keys. "
            "Nothing is changed.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="All rows as JSON, one table per line.")
    ] = False,
) -> None:
    """Show the state of lanes and shards of a running or stopped job."""
    from jobs import state as states
    from jobs.file_run import own_session
    from windowing.model import load_pipeline

    if checkpoint is None:
        of, spec = chosen(stack_for(pipeline), pipeline, run)
        where = of.checkpoint
    else:
        where, spec = checkpoint, load_pipeline(pipeline)
    if not states.is_there(where):
        complain(f"{where} holds no committed batch: has the job begun? is it a checkpoint?")
        raise typer.Exit(USAGE)
    with err.status("reading"), own_session("slackwater state") as spark:
        for line in states.read_state(spark, where, spec, batch, shards=shards):
            if part not in (None, line["part"]):
                continue
            text = states.as_json(line)
            if as_json:
                say(text)
            else:
                _show(json.loads(text))


def _show(line: dict[str, Any]) -> None:
    """Print the first rows of one table of a lane or a shard."""
    rows = [row if isinstance(row, dict) else {"": row} for row in line["rows"]]
    title = f"{line['part']}: {line['table']}, {len(rows)} rows"
    if len(rows) > _ROWS_SHOWN:
        title += f", the first {_ROWS_SHOWN} of them"
    table = Table(title=plain(title), title_justify="left", box=SIMPLE)
    for name in rows[0] if rows else ():
        table.add_column(plain(name.removeprefix("=")), no_wrap=True)
    for row in rows[:_ROWS_SHOWN]:
        table.add_row(*(_cell(value) for value in row.values()))
    width = None if err.is_terminal else _WIDTH
    Console(highlight=False, markup=False, emoji=False, width=width).print(table)


def _cell(value: object) -> str:
    if value == _LEAST_US:
        return "-∞"
    return "ended" if value == _ENDED_US else plain(str(value))
