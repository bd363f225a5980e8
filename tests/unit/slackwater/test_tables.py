"""`slackwater tables`, on tables of two runs."""

from __future__ import annotations

import fcntl
import os
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Event

import pytest

from slackwater import tables as upkeep_command
from tests.unit.slackwater.test_results import TEXT, answer, command, pipeline, refusal

__all__ = ["pipeline"]


def test_optimize_says_what_it_does_and_leaves_the_results(pipeline: Path) -> None:
    before = answer("newest", pipeline)
    would = command("tables", pipeline, "optimize", "--dry-run")
    assert would.exit_code == 0, would.output
    assert "would be merged" in would.stdout
    done = command("tables", pipeline, "optimize")
    assert "hourly: " in done.stdout
    assert "merged into " in done.stdout
    assert "hourly: 0 files" in command("tables", pipeline, "optimize").stdout
    assert answer("newest", pipeline) == before
    removed = command("tables", pipeline, "vacuum", "--retention", "1 hour", "--run", "r1")
    assert "hourly: 0 files (0.0 MB) removed" in removed.stdout


def test_one_waits_for_another(pipeline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both would be committed if they had read the same files, each with all rows."""
    home, waits, said = pipeline.parent / ".slackwater", Event(), list[str]()

    def say(line: str) -> None:
        said.append(line)
        if "waiting" in line:
            waits.set()

    monkeypatch.setattr(upkeep_command, "say", say)
    before = sorted(home.glob("tables/*/hourly/**/*.parquet"))
    other = os.open(home / "runs/flight_delays", os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_SH)  # so that it is seen whether ours shares, too
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(command, "tables", pipeline, "optimize")
        assert waits.wait(60.0)
        assert sorted(home.glob("tables/*/hourly/**/*.parquet")) == before
        os.close(other)
        assert done.result(60.0).exit_code == 0
    assert said[0] == "another upkeep of these tables is running: waiting for its end"
    assert any("merged into " in line for line in said)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--retention", "1 min"], "is too short: a batch that is being written has files"),
        (["--retention", "5 rows"], "--retention 5 rows"),
    ],
)
def test_a_wrong_retention_is_refused(pipeline: Path, words: list[str], sentence: str) -> None:
    assert sentence in refusal("tables", pipeline, "vacuum", *words)


def test_files_stay_as_long_as_the_runs_own_file_says(pipeline: Path) -> None:
    command("tables", pipeline, "optimize")
    (own,) = pipeline.parent.glob(".slackwater/runs/*/r1/*.yml")
    merged = [*pipeline.parent.glob(".slackwater/tables/*/hourly/run=r1/part-*.parquet")]
    then = time.time() - timedelta(days=3).total_seconds()
    for path in (*pipeline.parent.glob(".slackwater/tables/*/hourly/**/*"), *merged):
        os.utime(path, (then, then))
    orphan = merged[0].with_name(f"part-00000-{uuid.UUID(int=1)}-c000.snappy.parquet")
    orphan.write_bytes(b"rows")
    os.utime(orphan, (then, then))
    assert "hourly: 0 files" in command("tables", pipeline, "vacuum").stdout
    upkeep = 'upkeep: {schedule: "@daily", retention: 2 days}\n'
    own.write_text(own.read_text(encoding="utf-8") + upkeep, encoding="utf-8")
    assert (
        "hourly: 0 files" in command("tables", pipeline, "vacuum", "--retention", "4 days").stdout
    )
    assert "hourly: 1 files" in command("tables", pipeline, "vacuum").stdout
    assert not orphan.exists()


def test_before_the_first_run_there_is_nothing_to_tend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACKWATER_STATE_DIR", str(tmp_path / "state"))
    file = tmp_path / "flight_delays.yml"
    file.write_text(TEXT, encoding="utf-8")
    done = command("tables", file, "optimize")
    assert (done.exit_code, done.stdout) == (0, "no run yet, and so no tables\n")
