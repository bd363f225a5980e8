"""Which run a command means, and what that run runs; said where the user's file differs by now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.console import tell

if TYPE_CHECKING:
    from infra.endpoints import Endpoints
    from jobs.runs import Run
    from windowing.model import Pipeline

OptionalRun = Annotated[
    str | None,
    typer.Option(
        "--run", metavar="NAME", help="Which run; by default the live one, else the newest."
    ),
]


def chosen(endpoints: Endpoints, file: Path, run: str | None) -> tuple[Run, Pipeline]:
    """The run that is meant, and the pipeline that it runs: its own copy of the file.

    Args:
        endpoints: of the stack.
        file: the pipeline file, for its name.
        run: as it was given.

    Raises:
        RunError: there is no such run.
    """
    from jobs.runs.choice import meant

    found = meant(endpoints, file, run)
    warn(endpoints, found, file)
    return found, found.own_pipeline()


def stack_for(file: Path, *parts: str) -> Endpoints:
    """The addresses of the running stack; a file that names no pipeline is told of first.

    Args:
        file: a pipeline file, which may have been broken since a run was submitted with it.
        parts: of the stack, which must be running.

    Raises:
        PipelineError: the file names no pipeline.
        NotReady: a part does not run.
    """
    from infra import stack
    from jobs.runs.choice import check_name_in

    check_name_in(file)
    return stack.endpoints(only=parts)


def warn(endpoints: Endpoints, run: Run, file: Path) -> None:
    """Say how the user's file differs from what the run runs, where it does."""
    from jobs.runs.difference import file_differs

    differing = file_differs(endpoints, run, file)
    if differing:
        tell(f"run {run.run} runs its own copy of the file, {run.file}; {file} differs by now:")
        for sentence in differing:
            tell(f"  {sentence}")
