"""Choice of the run that a command works on, with a warning if the user's file differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slackwater.console import tell

if TYPE_CHECKING:
    from infra.endpoints import Endpoints
    from jobs.runs import Run
    from windowing.model import Pipeline

OptionalRun = Annotated[
    str | None,
    typer.Option("--run", metavar="NAME", help="The run; default: the live one, else the newest."),
]


def chosen(endpoints: Endpoints, file: Path, run: str | None) -> tuple[Run, Pipeline]:
    """Find the run, and the pipeline that it runs: its own copy of the file.

    Args:
        endpoints: addresses of the stack.
        file: the pipeline file, for its name.
        run: the given name of a run.

    Raises:
        RunError: there is no such run.
    """
    from jobs.runs.choice import meant

    found = meant(endpoints, file, run)
    warn(endpoints, found, file)
    return found, found.own_pipeline()


def stack_for(file: Path, *parts: str) -> Endpoints:
    """Return the addresses of the running stack; check first that the file names a pipeline.

    Args:
        file: a pipeline file, which may have become invalid since a run was submitted with it.
        parts: parts of the stack that must be running.

    Raises:
        PipelineError: the file names no pipeline.
        NotReady: a part is not running.
    """
    from infra import stack
    from jobs.runs.choice import check_name_in

    check_name_in(file)
    return stack.endpoints(only=parts)


def what_is_up(said: Callable[[str], None] = tell) -> Endpoints:
    """Return the running parts of the stack; listing runs needs none of them.

    Args:
        said: called with a sentence on each part that does not run.
    """
    from infra import stack
    from infra.errors import InfraError

    found = stack.endpoints(only=[], check=False)
    parts: dict[str, dict[str, Any]] = {
        "kafka": {"kafka_bootstrap": ""},
        "spark": {"spark_master": "", "spark_rest": "", "spark_ui": ""},
    }
    for part, absent in parts.items():
        try:
            stack.endpoints(only=[part], check=False)
        except InfraError as error:
            said(str(error))
            found = replace(found, **absent)
    return found


def warn(endpoints: Endpoints, run: Run, file: Path) -> None:
    """Say how the user's file differs from the run's own copy, if it does."""
    from jobs.runs.difference import file_differs

    differing = file_differs(endpoints, run, file)
    if differing:
        tell(f"run {run.run} runs its own copy of the file, {run.file}; {file} differs now:")
        for sentence in differing:
            tell(f"  {sentence}")
