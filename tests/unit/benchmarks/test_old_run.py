"""A run that is made old is one that commands read like any other."""

from __future__ import annotations

from pathlib import Path

from benchmarks.old_run import OldRun
from jobs.runs.folder import read_run


def test_its_note_is_one_of_ours(tmp_path: Path) -> None:
    old = OldRun(tmp_path, lanes=2, batches=3, rows=100)
    old.make()
    run = read_run(tmp_path / "runs" / "old" / "r1")
    assert run.file.exists()
    assert run.table == old.tables
    assert run.own_pipeline().source.partitions == 2
