"""The run that a command works on: the named one, else the live one, else the newest.

A run uses its own copy of the file. Only the name comes from the user's file, which may have been
edited since the run was submitted, and may be invalid now.
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
    """Choose the run that a command works on.

    Args:
        run: the run's name, if one was given.

    Raises:
        RunError: there is no such run, or none at all.
        PipelineError: the file does not name a pipeline that has runs.
    """
    found = meant_or_none(endpoints, file, run)
    if found is None:
        msg = f"pipeline {name_in(endpoints, file)} has no run: submit it first"
        raise RunError(msg)
    return found


def meant_or_none(endpoints: Endpoints, file: Path, run: str | None = None) -> Run | None:
    """Choose likewise; None: no run was named, and the pipeline has none."""
    name = name_in(endpoints, file)
    return find_named(endpoints, name, run) if run is not None else live_run(endpoints, name)


def name_in(endpoints: Endpoints, file: Path) -> str:
    """Return the pipeline's name in a file; in an invalid file, look only for the name.

    Raises:
        PipelineError: the file is invalid, and the pipeline that it names has no runs.
    """
    try:
        return load_pipeline(file).name
    except PipelineError:
        name = _name_alone(file)
        if name is None or not runs_folder(endpoints, name).is_dir():
            raise
        return name


def check_name_in(file: Path) -> None:
    """Check that a file names a pipeline, even if it is otherwise invalid.

    Raises:
        PipelineError: it does not.
    """
    try:
        load_pipeline(file)
    except PipelineError:
        if _name_alone(file) is None:
            raise


def _name_alone(file: Path) -> str | None:
    """Return the name in an invalid file; None: it has none that could name a folder."""
    try:
        content = yaml.safe_load(read_text(file))
    except (PipelineError, yaml.YAMLError, RecursionError):
        return None
    name = content.get("name") if isinstance(content, dict) else None
    return name if isinstance(name, str) and name == Path(name).name and name else None
