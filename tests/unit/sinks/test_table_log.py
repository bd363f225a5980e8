"""Commits that are written beside deltalake's: nothing is lost among writers, and readers agree."""

from __future__ import annotations

import json
import re
import shutil
import threading
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from tests.unit.sinks.test_data_files import filled, rows_of
from tests.unit.sinks.test_sink_tokens import batches
from windowing.files.places import is_remote
from windowing.files.table_rows import dataset_of, folder_of, rows_in
from windowing.model.run_errors import TableConflict, TokenMismatch
from windowing.runtime.token import Kept, Stretch, Token
from windowing.spark.sinks.data_files import DataFile, write_file
from windowing.spark.sinks.table_log import TableLog

SCHEMA = pa.schema([("run", pa.string()), ("x", pa.int64())])
WIDER = SCHEMA.append(pa.field("y", pa.struct([("z", pa.float64())])))


def created(folder: Path) -> Path:
    # Spaces and signs never come from pipeline files; deltalake does not take them on HDFS.
    table = folder / ("table" if is_remote(folder) else "a table, 100 %")
    DeltaTable.create(str(table), SCHEMA, partition_by=["run"])
    return table


def log_of(table: Path, run: str = "r") -> TableLog:
    return TableLog(table, run)


def a_file(table: Path, x: int, run: str = "r") -> DataFile:
    rows = pa.table({"run": [run], "x": [x]}, schema=SCHEMA)
    return write_file(table.parent, table.name, rows, SCHEMA)


def token(number: int) -> Token:
    return Token(number, {"s/0": Stretch(number, number)}, {"s": "id"})


def values(table: Path) -> list[int]:
    return sorted(DeltaTable(str(table)).to_pyarrow_table()["x"].to_pylist())


def commit_file(table: Path, version: int) -> Path:
    return table / "_delta_log" / f"{version:020}.json"


def test_deltalake_reads_what_is_committed(tmp_path: Path) -> None:
    table = created(tmp_path)
    log = log_of(table, "r 1")
    assert log.append([a_file(table, 1, "r 1"), a_file(table, 2, "r 1")], token(0))
    assert log.append([], token(1))
    found = DeltaTable(str(table))
    assert found.to_pyarrow_table().to_pylist() == [{"run": "r 1", "x": x} for x in (1, 2)]
    assert (found.version(), log.version) == (2, 2)
    assert found.transaction_version("r 1") == 1
    assert log.kept == log_of(table, "r 1").kept == Kept(1, token(1).digest)
    said = found.history(1)[0]
    assert json.loads(said["slackwater"]) == {
        "run": "r 1", "batch": 1, "lanes": {"s/0": [1, 1]}, "topics": {"s": "id"}
    }  # fmt: skip
    assert not [*table.glob("_delta_log/*.tmp")]


def test_commits_of_others_are_read_before_the_next_one(tmp_path: Path) -> None:
    table = created(tmp_path)
    log, twin = log_of(table), log_of(table)
    assert twin.append([a_file(table, 1)], token(0))
    write_deltalake(str(table), WIDER.empty_table(), mode="append", schema_mode="merge")
    assert log.schema == SCHEMA
    assert not log.append([a_file(table, 1)], token(0))
    assert (log.version, log.kept) == (2, twin.kept)
    assert log.schema == log_of(table).schema
    assert {*log.schema} == {*WIDER}
    assert values(table) == [1]
    assert log.append([a_file(table, 2)], token(1))
    assert values(table) == [1, 2]


def test_no_commit_of_many_writers_is_lost(tmp_path: Path) -> None:
    """Each writer has its own run; a compaction runs beside them."""
    table, done = created(tmp_path), threading.Event()

    def write(writer: int) -> None:
        log = log_of(table, f"r{writer}")
        for number in range(40):
            file = a_file(table, 100 * writer + number, f"r{writer}")
            while not log.append([file], token(number)):
                pass

    def compact() -> None:
        while not done.is_set():
            with suppress(CommitFailedError):  # after fifteen commits of others it gives up
                DeltaTable(str(table)).optimize.compact()

    writers = [threading.Thread(target=write, args=[writer]) for writer in range(4)]
    tidy = threading.Thread(target=compact)
    for thread in (tidy, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    tidy.join()
    DeltaTable(str(table)).optimize.compact()
    assert values(table) == sorted(100 * w + n for w in range(4) for n in range(40))
    found = DeltaTable(str(table))
    assert [found.transaction_version(f"r{writer}") for writer in range(4)] == [39] * 4


def test_checkpoints_are_written_for_readers(tmp_path: Path) -> None:
    table = created(tmp_path)
    log = log_of(table)
    for number in range(120):
        assert log.append([a_file(table, number)], token(number))
    (checkpoint,) = table.glob("_delta_log/*.checkpoint.parquet")
    assert checkpoint.name.startswith(f"{99:020}")
    for version in range(99):
        commit_file(table, version).unlink()
    assert values(table) == [*range(120)]
    assert log_of(table).kept == Kept(119, token(119).digest)


def test_a_checkpoint_waits_for_a_tenth_of_what_it_will_hold(tmp_path: Path) -> None:
    table = created(tmp_path)
    log = log_of(table)
    assert log.append([a_file(table, number) for number in range(1_500)], token(0))
    for number in range(1, 260):
        assert log.append([], token(number))
    found = sorted(path.name[:20] for path in table.glob("_delta_log/*.checkpoint.parquet"))
    assert [int(version) for version in found] == [99, 249]
    again = log_of(table)
    assert again.append([], token(260))
    assert len([*table.glob("_delta_log/*.checkpoint.parquet")]) == 2


def test_a_writer_that_slept_while_its_log_was_removed_begins_at_the_newest(tmp_path: Path) -> None:
    table = created(tmp_path)
    sleeper, other = log_of(table), log_of(table, "other")
    for number in range(120):
        assert other.append([a_file(table, number, "other")], token(number))
    for version in range(99):
        commit_file(table, version).unlink()
    sleeper.catch_up()
    assert sleeper.version == 120
    assert sleeper.append([a_file(table, 500)], token(0))
    assert values(table) == [*range(120), 500]


def test_a_table_that_is_put_back_beneath_a_driver_is_noticed(tmp_path: Path) -> None:
    sink = filled(tmp_path, 3)
    shutil.copytree(tmp_path / "q", tmp_path / "copy")
    *_, second, third = batches(3, 7, 9)
    sink.take(second, 1)
    shutil.rmtree(tmp_path / "q")
    (tmp_path / "copy").rename(tmp_path / "q")
    rows = rows_of(tmp_path, "q")
    with pytest.raises(TokenMismatch, match=r"table .*q of run r1 has batches up to 0"):
        sink.take(third, 2)
    assert rows_of(tmp_path, "q") == rows


def test_a_table_with_features_of_newer_writers_is_refused(tmp_path: Path) -> None:
    table = created(tmp_path)
    log = log_of(table)
    DeltaTable(str(table)).alter.add_constraint({"positive": "x > 0"})
    for look in (log.catch_up, lambda: log_of(table)):
        with pytest.raises(TableConflict, match=r"version \d, and the sink writes version 2"):
            look()
    assert values(table) == []


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
