"""Tables are read by Arrow itself, wherever they lie and whatever a run is called."""

from __future__ import annotations

import re
from pathlib import Path

from deltalake import DeltaTable

from tests.unit.sinks.test_table_log import a_file, created, log_of, token
from windowing.files.table_rows import dataset_of, folder_of, rows_in

ROOT = Path(__file__).parents[3]


def test_all_rows_are_read_from_folders_with_any_name(tmp_path: Path) -> None:
    folder = created(tmp_path)
    for run in ("r 1", "r/2 %"):
        log = log_of(folder, run)
        assert log.append([a_file(folder, x, run) for x in (1, 2)], token(0))
    table = DeltaTable(str(folder))
    assert folder_of(table) == folder
    assert sorted(rows_in(table, run="r 1")["x"].to_pylist()) == [1, 2]
    assert rows_in(table, run="r/2 %", columns=["run"]).to_pylist() == [{"run": "r/2 %"}] * 2
    assert rows_in(table).num_rows == dataset_of(table).count_rows() == 4


def test_nothing_reads_tables_through_python() -> None:
    """Arrow's threads would then need an interpreter that may have ended: see `table_rows`."""
    rooms = ("windowing", "jobs", "chaos", "slackwater", "infra", "dags")
    using = {
        path.relative_to(ROOT)
        for room in rooms
        for path in (ROOT / room).rglob("*.py")
        if re.search(r"\.to_pyarrow_(table|dataset)\(", path.read_text())
    }
    assert using == {Path("windowing/files/table_rows.py")}
