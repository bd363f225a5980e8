"""Which run a command means: the named one, else the live one, else the newest.

What a run runs is its own copy of the file. The user's file is asked for its name only: since the
run was submitted it may have been edited, and may be broken by now.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from infra.endpoints import Endpoints
from jobs.runs.folder import Run, RunError, find_named, runs_folder
from jobs.runs.orders import live_run
from windowing.model import PipelineError, load_pipeline
from windowing.model.file.documents import read_text


def meant(endpoints: Endpoints, file: Path, run: str | None = None) -> Run:
    """The run that a command means.

    Args:
        endpoints: of the stack.
        file: the pipeline file.
        run: the run's name, if one was given.

    Raises:
        RunError: there is no such run, or none at all.
        PipelineError: the file says of no pipeline that has runs.
    """
    found = meant_or_none(endpoints, file, run)
    if found is None:
        msg = f"pipeline {name_in(endpoints, file)} has no run: submit it first"
        raise RunError(msg)
    return found


def meant_or_none(endpoints: Endpoints, file: Path, run: str | None = None) -> Run | None:
    """The same; None: no run was named, and the pipeline has none."""
    name = name_in(endpoints, file)
    return find_named(endpoints, name, run) if run is not None else live_run(endpoints, name)


def name_in(endpoints: Endpoints, file: Path) -> str:
    """The name of the pipeline of a file; a broken file is read as far as its name.

    Raises:
        PipelineError: the file is broken, and there are no runs of what it names.
    """
    try:
        return load_pipeline(file).name
    except PipelineError:
        name = _name_alone(file)
        if name is None or not runs_folder(endpoints, name).is_dir():
            raise
        return name


def check_name_in(file: Path) -> None:
    """See that a file names a pipeline, be the file broken otherwise.

    Raises:
        PipelineError: it does not.
    """
    try:
        load_pipeline(file)
    except PipelineError:
        if _name_alone(file) is None:
            raise


def _name_alone(file: Path) -> str | None:
    """The name in a file that breaks a rule; None: it has none that could be a folder's."""
    try:
        told = yaml.safe_load(read_text(file))
    except (PipelineError, yaml.YAMLError, RecursionError):
        return None
    name = told.get("name") if isinstance(told, dict) else None
    return name if isinstance(name, str) and name == Path(name).name and name else None
