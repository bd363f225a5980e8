"""The command `reshard`: another number of shards for a stopped run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.chosen import OptionalRun, stack_for
from slackwater.console import err, say
from slackwater.files import PipelineFile

if TYPE_CHECKING:
    from jobs.checkpoints.conversion import Conversion


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(reshard)


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
    from jobs.runs.choice import meant
    from jobs.runs.orders import one_at_a_time

    endpoints = stack_for(pipeline)
    found = meant(endpoints, pipeline, run)
    with one_at_a_time(endpoints, found.pipeline), err.status("dividing the state"):
        result = reshard_run(found, shards, dry_run=dry_run)
    _tell(result, str(pipeline))


def _tell(result: Conversion, file: str) -> None:
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
