"""The private files of a run's folder: when they are written, and when they go."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from infra.kafka_spelling import SECRETS_MARKER
from infra.private import ENVIRONMENT_FILE, SECRETS_FOLDER, forget, write_private
from jobs.runs.attempts import read_attempts
from jobs.runs.folder import NOTE_FILE


def write_environment(folder: Path, variables: Mapping[str, str]) -> Path | None:
    """Write the variables of a run's drivers; return their file; None: there are none."""
    (folder / ENVIRONMENT_FILE).unlink(missing_ok=True)
    if not variables:
        return None
    return Path(write_private(folder / ENVIRONMENT_FILE, json.dumps(dict(variables))))


def read_environment(file: Path) -> dict[str, str]:
    """Return the variables that a driver is given; none if their file is gone."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        sys.stderr.write(f"{file} is gone: what it says of lineage and telemetry is not known\n")
        return {}
    return {name: str(value) for name, value in found.items()}


def forget_own(folder: Path) -> None:
    """Delete the secrets of a driver that ends for good, unless another driver has its run.

    Args:
        folder: the run's, or of a job that was started by hand: there, only what we made goes.
    """
    if read_attempts(folder).living is not None:
        return
    if (folder / NOTE_FILE).exists():
        forget(folder)
    elif (folder / SECRETS_FOLDER / SECRETS_MARKER).exists():
        shutil.rmtree(folder / SECRETS_FOLDER, ignore_errors=True)
