"""The benchmark of the table sink writes what it says, and every batch of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from benchmarks.tables import costs_of


@pytest.mark.parametrize(("size", "rows"), [(0, 0), (7, 7)])
def test_every_batch_is_written(tmp_path: Path, size: int, rows: int) -> None:
    costs = [*costs_of(size, 3, tmp_path)]
    assert all(cost.cpu_ms > 0 for cost in costs)
    table = DeltaTable(str(tmp_path / "windows"))
    assert table.transaction_version("run") == 2
    assert len(table.to_pyarrow_table()) == 3 * rows
