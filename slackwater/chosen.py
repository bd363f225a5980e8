"""Which run a command reads where none is named: the live one, else the newest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobs.runs import Run
    from windowing.spec import Pipeline


def chosen(file: Path, run: str | None) -> tuple[Run, Pipeline]:
    """The run that is meant, and the pipeline as it was deployed.

    Args:
        file: the pipeline file, for the name of the pipeline.
        run: the run's name, if one was given.

    Raises:
        RunError: there is no such run, or none at all.
    """
    from infra import stack
    from jobs import runs
    from jobs.live import named_live
    from windowing.spec import load_pipeline

    spec, endpoints = load_pipeline(file), stack.endpoints(only=[])
    name = run or named_live(endpoints.state_dir / "runs" / spec.name)
    found = runs.find(endpoints, spec, name) if name else runs.newest(endpoints, spec)
    if found is None:
        msg = f"pipeline {spec.name} has no run: submit it first"
        raise runs.RunError(msg)
    return found, load_pipeline(found.file)
