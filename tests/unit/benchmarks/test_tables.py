"""The benchmarks of tables write what they say, and an old run is one that commands can read."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from benchmarks.overview import OldRun
from benchmarks.tables import costs_of
from jobs.runs.folder import read_run


@pytest.mark.parametrize(("size", "rows"), [(0, 0), (7, 7)])
def test_every_batch_is_written(tmp_path: Path, size: int, rows: int) -> None:
    costs = [*costs_of(size, 3, tmp_path)]
    assert all(cost.cpu_ms > 0 for cost in costs)
    table = DeltaTable(str(tmp_path / "windows"))
    assert table.transaction_version("run") == 2
    assert len(table.to_pyarrow_table()) == 3 * rows


def test_its_note_is_one_of_ours(tmp_path: Path) -> None:
    old = OldRun(tmp_path, lanes=2, batches=3, rows=100)
    old.make()
    run = read_run(tmp_path / "runs" / "old" / "r1")
    assert run.file.exists()
    assert run.table == old.tables
    assert run.own_pipeline().source.partitions == 2
