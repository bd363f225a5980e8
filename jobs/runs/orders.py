"""Orders for a pipeline's runs: which one is live, and which ones must stop.

The live run is the default of commands. Submitting a run makes it live; a run beside it becomes
live when it takes over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from infra.endpoints import Endpoints
from infra.locks import locked
from jobs.runs.folder import NOTE_FILE, Run, every_run, read_run, runs_folder, write_whole
from jobs.runs.life import Order

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
