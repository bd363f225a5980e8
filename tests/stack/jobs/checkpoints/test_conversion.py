"""A new checkpoint takes the old one's place whole, also if that is interrupted anywhere."""

from __future__ import annotations

import pytest

from jobs.checkpoints.conversion import (
    ConversionError,
    reshard_run,
)
from jobs.runs import Run
from jobs.runs.owner import Owner
from tests.unit.jobs.checkpoints.test_conversion import run  # noqa: F401 - a fixture


def test_a_run_with_a_job_is_left_alone(run: Run) -> None:
    """Its owner is given time to show that it lives."""
    other = Owner(run.folder)
    other.claim()
    try:
        with pytest.raises(ConversionError, match="slackwater stop"):
            reshard_run(run, 3)
    finally:
        other.release()
