"""Which run is meant, which one is live, and which ones must stop.

A command works on the named run, else the live one, else the newest. Submitting a run makes it
live; a run beside it becomes live when it takes over.

A run uses its own copy of the file. Only the name comes from the user's file, which may have been
edited since the run was submitted, and may be invalid now.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import yaml

from infra.endpoints import Endpoints
from infra.locks import locked
from jobs.runs.folder import (
    NOTE_FILE,
    Run,
    RunError,
    every_run,
    find_named,
    read_run,
    runs_folder,
    write_whole,
)
from jobs.runs.life import Order
from windowing.model import PipelineError, load_pipeline
from windowing.model.file.documents import read_text

LIVE_FILE = "live.json"
"""Name of the file in the folder of a pipeline's runs."""

ORDER_FILE = "order.json"
"""Name of the file in a run's folder, from the order to stop until it is submitted again."""

_LOCK_FILE = ".lock"


def name_live(endpoints: Endpoints, pipeline: str, run: str) -> None:
    """Make a run the live one of its pipeline, in one write."""
    write_whole(runs_folder(endpoints, pipeline) / LIVE_FILE, {"run": run})


def live_run(endpoints: Endpoints, pipeline: str) -> Run | None:
    """Return the live run of a pipeline, else its newest; None: it has no run."""
    folder = runs_folder(endpoints, pipeline)
    try:
        named = folder / _named_live(folder)
    except FileNotFoundError:
        named = None
    if named is not None and (named / NOTE_FILE).exists():
        return read_run(named)
    found = every_run(endpoints, pipeline)
    return found[-1] if found else None


def is_live(run: Path) -> bool:
    """Whether no other run of the pipeline is the live one; a job knows its folder only."""
    try:
        return _named_live(run.parent) == run.name
    except FileNotFoundError:
        return True


def give_order(folder: Path, order: Order) -> None:
    """Record that a run must stop, before stopping it."""
    write_whole(folder / ORDER_FILE, asdict(order))


def read_order(folder: Path) -> Order | None:
    """Return the last order for a run; None: nothing since it was submitted."""
    try:
        return Order(**json.loads((folder / ORDER_FILE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def withdraw_order(folder: Path) -> None:
    """Delete a run's order: it is submitted again."""
    (folder / ORDER_FILE).unlink(missing_ok=True)


@contextmanager
def one_at_a_time(endpoints: Endpoints, pipeline: str) -> Iterator[None]:
    """Lock starts and stops of a pipeline's runs; two at once could create two drivers."""
    with locked(runs_folder(endpoints, pipeline) / _LOCK_FILE):
        yield


def _named_live(folder: Path) -> str:
    return str(json.loads((folder / LIVE_FILE).read_text(encoding="utf-8"))["run"])


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
