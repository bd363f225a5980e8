"""Compaction and retention of tables, also beside a writer: no row, token or other file is lost."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from chaos.readers.delta import read_tables
from chaos.verdict.verify import verify
from tests.strategies import lane_of
from tests.unit.sinks.test_data_files import files_in, filled, in_files, rows_of
from tests.unit.sinks.test_sink_tokens import NAMES, PIPELINE, batches
from windowing.engine.tuning import tuned
from windowing.files.table_rows import folder_of
from windowing.model import parse_pipeline
from windowing.runtime.token import Kept
from windowing.spark.sinks import upkeep
from windowing.spark.sinks.table import TableSink

CUTS = tuple(range(3, 42, 3))
NOW, WEEK = timedelta(0), timedelta(days=7)


def age(folder: Path, days: int) -> None:
    """Make all files look older."""
    then = time.time() - 86_400 * days
    for path in folder.rglob("*"):
        os.utime(path, (then, then))


def optimized(folder: Path, run: str | None = None) -> dict[str, upkeep.TableUpkeep]:
    return {one.table: one for one in upkeep.optimize(PIPELINE, folder, run)}


def vacuumed(folder: Path, run: str | None = None, **more: object) -> int:
    return sum(one.files for one in upkeep.vacuum(PIPELINE, folder, run, **more))  # type: ignore[arg-type]


def test_merged_tables_have_the_same_rows_and_tokens_and_go_on(tmp_path: Path) -> None:
    sink = filled(tmp_path, *CUTS)
    rows = {name: rows_of(tmp_path, name) for name in (*NAMES, "tokens")}
    before = TableSink.kept(PIPELINE, tmp_path, "r1")
    assert [one.files for one in upkeep.optimize(PIPELINE, tmp_path, dry_run=True)].count(0) < 5
    assert not [*tmp_path.rglob("*.lock")], "whoever only looks may not be allowed to write"
    found = optimized(tmp_path)
    assert found["q"].files > 10
    assert found["q"].added == 1
    assert {name: rows_of(tmp_path, name) for name in rows} == rows
    assert TableSink.kept(PIPELINE, tmp_path, "r1") == before
    assert optimized(tmp_path)["q"].files == 0
    *_, last = batches(*CUTS, 43)
    for other in (sink, TableSink(PIPELINE, tmp_path, "r1")):
        other.take(in_files(other, last, len(CUTS)), len(CUTS))
    filled(tmp_path / "whole", *CUTS, 43)
    assert rows_of(tmp_path, "q") == rows_of(tmp_path / "whole", "q")


def test_one_run_is_merged_and_others_are_left(tmp_path: Path) -> None:
    filled(tmp_path, *CUTS)
    other = TableSink(PIPELINE, tmp_path, "r 2")
    for number, frames in enumerate(batches(*CUTS)):
        other.take(in_files(other, frames, number), number)
    assert optimized(tmp_path, "r 2")["q"].added == 1
    left = DeltaTable(str(tmp_path / "q"))
    assert len(left.file_uris(file_pruning_predicate=[("run", "=", "r 2")])) == 1
    assert len(left.file_uris(file_pruning_predicate=[("run", "=", "r1")])) > 10
    assert vacuumed(tmp_path, "r1", retention=NOW) == 0
    assert vacuumed(tmp_path, "r 2", retention=NOW) > 20


def test_vacuum_removes_what_was_replaced_or_never_committed_and_nothing_else(
    tmp_path: Path,
) -> None:
    sink = filled(tmp_path, *CUTS)
    optimized(tmp_path)
    *_, last = batches(*CUTS, 43)
    in_files(sink, last, len(CUTS))  # an attempt that died
    notes = tmp_path / "q" / "run=r1" / "notes.parquet"
    notes.write_text("mine")
    rows, files = rows_of(tmp_path, "q"), files_in(tmp_path)
    assert vacuumed(tmp_path, retention=WEEK) == 0
    age(tmp_path, 8)
    in_files(sink, last, len(CUTS))  # an attempt that is running
    young = files_in(tmp_path) - files
    assert vacuumed(tmp_path, retention=WEEK, dry_run=True) == 1
    assert files < files_in(tmp_path)
    assert vacuumed(tmp_path, retention=WEEK) == 1  # replaced files are not a week old in the log
    assert young <= files_in(tmp_path)
    assert vacuumed(tmp_path, retention=NOW) > 20
    assert vacuumed(tmp_path, retention=NOW) == 0  # the log still names them
    used = {Path(uri) for uri in DeltaTable(str(tmp_path / "q")).file_uris()}
    assert files_in(tmp_path / "q") == used
    assert notes.read_text() == "mine"
    assert rows_of(tmp_path, "q") == rows


def test_a_commit_that_was_never_finished_is_removed_when_it_is_old(tmp_path: Path) -> None:
    filled(tmp_path, *CUTS)
    staged = tmp_path / "q" / "_delta_log" / "_commit_1.json.tmp"
    staged.touch()
    assert vacuumed(tmp_path, retention=WEEK) == 0
    os.utime(staged, (0, 0))
    assert vacuumed(tmp_path, "r1", retention=WEEK) == 0
    assert vacuumed(tmp_path, retention=WEEK) == 1
    assert not staged.exists()


def test_merging_beside_a_writer_loses_nothing(tmp_path: Path) -> None:
    """A job writes batch after batch while tables are merged and vacuumed again and again."""
    cuts, done, errors = tuple(range(1, 41)), threading.Event(), list[BaseException]()
    sink = filled(tmp_path, *cuts[:5])

    def tend() -> None:
        try:
            while not done.is_set():
                list(upkeep.optimize(PIPELINE, tmp_path))
                vacuumed(tmp_path, retention=WEEK)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=tend)
    thread.start()
    try:
        for number, frames in enumerate(batches(*cuts)):
            sink.take(in_files(sink, frames, number), number)
    finally:
        done.set()
        thread.join()
    assert not errors
    log = lane_of({"value": {"ts": 10 * at, "v": 1}} for at in range(cuts[-1]))
    verdict = verify(PIPELINE, log, read_tables(tmp_path, PIPELINE, "r1"))
    assert verdict.ok, "\n".join(verdict.lines())
    found = TableSink.kept(PIPELINE, tmp_path, "r1")
    assert {one.batch for one in found.tables.values() if isinstance(one, Kept)} == {39}
    compactions = DeltaTable(str(tmp_path / "q")).history()
    assert sum(one["operation"] == "OPTIMIZE" for one in compactions) > 1
    filled(tmp_path, *cuts)
    assert verify(PIPELINE, log, read_tables(tmp_path, PIPELINE, "r1")).ok


def test_two_upkeeps_at_once_keep_each_row_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both would merge the same files, if both looked before one of them has merged."""
    filled(tmp_path, *CUTS)
    rows, both = rows_of(tmp_path, "q"), threading.Barrier(2)
    small_files = upkeep._small_files

    def looked(table: DeltaTable, run: str | None) -> Sequence[int]:
        found = small_files(table, run)
        with suppress(threading.BrokenBarrierError):
            both.wait(0.5)
        return found

    monkeypatch.setattr(upkeep, "_small_files", looked)
    with ThreadPoolExecutor(2) as pool:
        assert len([*pool.map(optimized, [tmp_path] * 2)]) == 2
    assert rows_of(tmp_path, "q") == rows


def test_a_merge_is_repeated_if_a_job_adds_a_column_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = parse_pipeline(PIPELINE.text.replace("{n: count}", "{n: count, more: sum(v)}"))
    small_files = upkeep._small_files

    def looked(table: DeltaTable, run: str | None) -> Sequence[int]:
        found = small_files(table, run)
        TableSink(changed, folder_of(table).parent, "r2")
        return found

    monkeypatch.setattr(upkeep, "_small_files", looked)
    for tries in (1, 2):
        folder = tmp_path / str(tries)
        filled(folder, *CUTS)
        with tuned(merge_tries=tries):
            if tries == 1:
                with pytest.raises(CommitFailedError, match="Metadata changed"):
                    optimized(folder)
            else:
                assert optimized(folder)["q"].added == 1
        rows = DeltaTable(str(folder / "q")).to_pyarrow_table()["values"].to_pylist()
        assert rows
        assert all(row["more"] is None for row in rows)


def test_missing_tables_have_no_upkeep(tmp_path: Path) -> None:
    assert not [*upkeep.optimize(PIPELINE, tmp_path), *upkeep.vacuum(PIPELINE, tmp_path)]
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("hours", [1, 24])
def test_young_files_stay_whatever_happens(tmp_path: Path, hours: int) -> None:
    sink = filled(tmp_path, 3)
    *_, second = batches(3, 7)
    frames = in_files(sink, second, 1)
    assert vacuumed(tmp_path, retention=timedelta(hours=hours)) == 0
    sink.take(frames, 1)
    assert rows_of(tmp_path, "q")
