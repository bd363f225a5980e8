"""`slackwater chaos convictions`: what the recorded cases of planted bugs come through."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from slackwater.console import FAILED, PASSED, USAGE, bar, complain, say


def register(app: typer.Typer) -> None:
    """Add `convictions` to the commands under `chaos`."""
    app.command()(convictions)


def convictions(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of the recorded cases.")
    ] = Path("tests") / "data" / "convictions",
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A page to write the table into, too."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; default: one per core.")
    ] = None,
) -> None:
    """Tell which mechanisms of the engine the cases that convict planted bugs come through."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    from chaos.planted_bugs import PLANTED_BUGS
    from chaos.planted_bugs.coverage import reached, table, with_table
    from windowing.files.whole_files import whole_file

    found = []
    with bar("replaying", len(PLANTED_BUGS)) as progress:
        for one in reached(folder, jobs or len(os.sched_getaffinity(0))):
            found.append(one)
            progress.advance(progress.task_ids[0])
    if not any(one.mechanisms for one in found):
        complain(f"{folder} has no recorded case of a planted bug")
        raise typer.Exit(USAGE)
    lines = table(found)
    for line in lines:
        say(line)
    if write is not None:
        try:
            page = with_table(write.read_text(encoding="utf-8"), lines)
        except (OSError, ValueError) as error:
            complain(f"{write}: {error}")
            raise typer.Exit(USAGE) from None
        with whole_file(write) as file:
            file.write(page.encode())
    raise typer.Exit(PASSED if all(one.mechanisms for one in found) else FAILED)
