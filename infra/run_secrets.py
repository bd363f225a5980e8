"""What a run's folder holds that only its job may know, and only while it may be started again.

The login to a Kafka cluster, and the variables that a driver is given: in files that only their
owner can read, since everybody can read a command line.
"""

import shutil
from pathlib import Path

SECRETS_FOLDER = "kafka"
"""Folder in a run's folder with its job's login to a Kafka cluster; private."""

ENVIRONMENT_FILE = "environment.json"
"""File in a run's folder with variables for its drivers; private."""


def forget(run: Path) -> None:
    """Delete the secrets in a run's folder."""
    shutil.rmtree(run / SECRETS_FOLDER, ignore_errors=True)
    (run / ENVIRONMENT_FILE).unlink(missing_ok=True)


def forget_all(state_dir: Path) -> None:
    """Delete the secrets of all runs: their cluster is gone, and none is started again by itself.

    Args:
        state_dir: the state folder.
    """
    for run in (state_dir / "runs").glob("*/*/"):
        forget(run)
