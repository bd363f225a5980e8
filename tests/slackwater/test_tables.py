"""`slackwater tables`, on tables of two runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slackwater.test_results import command, pipeline, refusal, told

__all__ = ["pipeline"]


def test_optimize_says_what_it_does_and_leaves_the_results(pipeline: Path) -> None:
    before = told("newest", pipeline)
    would = command("tables", pipeline, "optimize", "--dry-run")
    assert would.exit_code == 0, would.output
    assert "would be merged" in would.stdout
    done = command("tables", pipeline, "optimize")
    assert "hourly: " in done.stdout
    assert "merged into " in done.stdout
    assert "hourly: 0 files" in command("tables", pipeline, "optimize").stdout
    assert told("newest", pipeline) == before
    removed = command("tables", pipeline, "vacuum", "--retention", "1 hour", "--run", "r1")
    assert "hourly: 0 files (0.0 MB) removed" in removed.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--retention", "1 min"], "is too short: a batch that is being written has files"),
        (["--retention", "5 rows"], "--retention 5 rows"),
    ],
)
def test_a_wrong_retention_is_refused(pipeline: Path, words: list[str], sentence: str) -> None:
    assert sentence in refusal("tables", pipeline, "vacuum", *words)
