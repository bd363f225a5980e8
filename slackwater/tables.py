"""`slackwater tables`: upkeep of a pipeline's Delta tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infra.locks import locked
from slackwater.console import say
from slackwater.options import PipelineFile, chosen, stack_for

if TYPE_CHECKING:
    from windowing.model import Pipeline


class Action(StrEnum):
    """What can be done to tables."""

    optimize = "optimize"
    vacuum = "vacuum"


def tables(
    pipeline: PipelineFile,
    action: Annotated[
        Action,
        typer.Argument(help="optimize: merge small files. vacuum: remove files no longer needed."),
    ],
    run: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only the files of this run; default: of all runs."),
    ] = None,
    retention: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH",
            help="vacuum: how long files stay that were replaced; default: as the file says under "
            "upkeep, else 7 days.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")
    ] = False,
) -> None:
    """Merge the small files of a pipeline's tables, or remove files that they no longer need."""
    from jobs.runs.choice import meant_or_none
    from windowing.spark.sinks import upkeep

    given = None if retention is None else _retention(retention)
    endpoints = stack_for(pipeline)
    if meant_or_none(endpoints, pipeline, run) is None:
        say("no run yet, and so no tables")
        return
    found, spec = chosen(endpoints, pipeline, run)
    _check_sink(spec)
    least = given or (spec.upkeep.retention if spec.upkeep else upkeep.RETENTION)
    would = "would be " if dry_run else ""
    with _alone(found.folder.parent):
        if action is Action.optimize:
            for kept in upkeep.optimize(spec, found.table, run, dry_run=dry_run):
                into = f" into {kept.added:,}" if kept.added else ""
                say(f"{kept.table}: {kept.files:,} files ({_mb(kept.size)}) {would}merged{into}")
            return
        for kept in upkeep.vacuum(spec, found.table, run, retention=least, dry_run=dry_run):
            say(f"{kept.table}: {kept.files:,} files ({_mb(kept.size)}) {would}removed")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other upkeep of the tables runs, and let none run meanwhile.

    Of two compactions of the same files, deltalake commits both, and every row is there twice: it
    takes a commit that only moves rows for no conflict (delta-rs 3982; as of 1.6.6).

    Args:
        folder: of all runs of the pipeline.
    """
    waits = "another upkeep of these tables is running: waiting for its end"
    with locked(folder, waits=lambda: say(waits)):
        yield


def _retention(text: str) -> timedelta:
    """Parse the retention.

    Raises:
        BadParameter: it is no length of time, or too short.
    """
    from windowing.model.lengths import duration_us
    from windowing.model.schedule import RETENTION_LEAST

    try:
        retention = timedelta(microseconds=duration_us(text))
    except ValueError as error:
        raise typer.BadParameter(f"--retention {text}: {error}") from None
    if retention < RETENTION_LEAST:
        msg = (
            f"--retention {text} is too short: a batch that is being written has files that no "
            "commit names yet, and readers may need replaced ones: give 1 hour or more"
        )
        raise typer.BadParameter(msg)
    return retention


def _check_sink(spec: Pipeline) -> None:
    """Check that the rows are in Delta tables.

    Raises:
        BadParameter: they are elsewhere.
    """
    if not spec.destination.rules.in_folder:
        msg = (
            f"{spec.name} has sink: {spec.destination.kind}, which has no files of ours: "
            "optimize and vacuum are for sink: {table: NAME}"
        )
        raise typer.BadParameter(msg)


def _mb(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


COMMANDS = (tables,)
