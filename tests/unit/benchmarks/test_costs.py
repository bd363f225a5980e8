"""What benchmarks of tables and of wide runs measure."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from benchmarks import tables, width
from benchmarks.overview import OldRun
from benchmarks.width import Cost, CountingStore, Width, growth
from jobs.runs.folder import read_run


@pytest.mark.parametrize(("size", "rows"), [(0, 0), (7, 7)])
def test_every_batch_is_written(tmp_path: Path, size: int, rows: int) -> None:
    costs = [*tables.costs_of(size, 3, tmp_path)]
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


NARROW = Width(keys=50, windows=200, partitions=2, batches=140, batch_rows=100)


def test_state_stops_growing_once_windows_close() -> None:
    costs = list(width.costs_of(NARROW))
    assert len(costs) == NARROW.batches
    assert costs[0].state_bytes < costs[99].state_bytes
    assert 0.7 < growth(costs, "state_bytes") < 1.3
    assert costs[60].rows > 0
    assert all(cost.written_bytes > 0 for cost in costs)


def test_growth_compares_the_first_steady_quarter_with_the_last() -> None:
    costs = [
        Cost(1, 1, 1, 1, state, 1) for state in [9_999] * 100 + [10] * 10 + [5] * 20 + [30] * 10
    ]
    assert growth(costs, "state_bytes") == 3


def test_what_crosses_a_store_is_counted() -> None:
    store = CountingStore()
    store.put("a/1", b"123")
    store.put("b", b"45")
    assert store.get("b") == b"45"
    assert store.get("c") is None
    assert list(store.scan("a/")) == [("a/1", b"123")]
    assert (store.written_bytes, store.read_bytes) == (5, 5)
