"""Files that executors write and the driver commits: crashes in between, and what readers see."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from tests.unit.sinks.test_sink_tokens import NAMES, PIPELINE, batches
from windowing.model.run_errors import TokenMismatch, UnseenFile
from windowing.runtime.output import DATA_FILE, SinkFrame
from windowing.runtime.token import Token
from windowing.spark.sinks.data_files import FileStage, is_ours, write_file
from windowing.spark.sinks.table import TableSink
from windowing.spark.sinks.table_log import TableLog

TIME = pa.timestamp("us", tz="UTC")


class SinkCrash(Exception):
    pass


def in_files(sink: TableSink, frames: Sequence[SinkFrame], number: int) -> list[SinkFrame]:
    """A batch's frames as an executor sends them if none of its results may be passed on."""
    found = sink.file_stage(number, 0).of(frames)
    assert {one.kind for one in found} <= {DATA_FILE, "metric"}
    return found


def rows_of(folder: Path, name: str) -> list[str]:
    rows = DeltaTable(str(folder / name)).to_pyarrow_table().drop_columns(["run"])
    columns = [name for name in sorted(rows.column_names) if not name.startswith("lag")]
    return sorted(str(row) for row in rows.select(columns).to_pylist())


def files_in(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*.parquet") if is_ours(path.name)}


def filled(folder: Path, *cuts: int, direct: bool = False) -> TableSink:
    sink = TableSink(PIPELINE, folder, "r1")
    for number, frames in enumerate(batches(*cuts)):
        sink.take(frames if direct else in_files(sink, frames, number), number)
    return sink


def test_both_paths_write_the_same_tables(tmp_path: Path) -> None:
    filled(tmp_path / "direct", 3, 7, 9, direct=True)
    filled(tmp_path / "files", 3, 7, 9)
    for name in (*NAMES, "tokens"):
        direct, files = (rows_of(tmp_path / path, name) for path in ("direct", "files"))
        assert direct == files, name
    assert rows_of(tmp_path / "files", "q")
    assert TableSink.kept(PIPELINE, tmp_path / "direct", "r1").tables == (
        TableSink.kept(PIPELINE, tmp_path / "files", "r1").tables
    )


def test_files_of_an_attempt_that_died_are_no_part_of_a_table(tmp_path: Path) -> None:
    """The driver dies after the executors have written, and the batch is run again."""
    sink = filled(tmp_path, 3, 7)
    rows, files = rows_of(tmp_path, "q"), files_in(tmp_path / "q")
    *_, third = batches(3, 7, 9)
    in_files(sink, third, 2)
    assert len(files_in(tmp_path / "q") - files) == 1
    assert rows_of(tmp_path, "q") == rows
    again = TableSink(PIPELINE, tmp_path, "r1")
    again.take(in_files(again, third, 2), 2)
    assert len(files_in(tmp_path / "q") - files) == 2
    filled(tmp_path / "whole", 3, 7, 9)
    assert rows_of(tmp_path, "q") == rows_of(tmp_path / "whole", "q")


@pytest.mark.parametrize("survive", range(4))
def test_a_driver_that_dies_between_two_tables_is_made_good(
    survive: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the tables' commits, the first `survive` are made before the driver dies."""
    sink = filled(tmp_path, 3, 7)
    *_, third = batches(3, 7, 9)
    frames, commit, made = in_files(sink, third, 2), sink._commit, []

    def die(name: str, *rest: object) -> None:
        if len(made) == survive:
            raise SinkCrash
        commit(name, *rest)  # type: ignore[arg-type]
        made.append(name)

    monkeypatch.setattr(sink, "_commit", die)
    with pytest.raises(SinkCrash):
        sink.take(frames, 2)
    again = TableSink(PIPELINE, tmp_path, "r1")
    again.take(in_files(again, third, 2), 2)
    filled(tmp_path / "whole", 3, 7, 9)
    for name in (*NAMES, "tokens"):
        assert rows_of(tmp_path, name) == rows_of(tmp_path / "whole", name)


def test_of_two_drivers_with_files_one_commits_and_another_plan_is_refused(tmp_path: Path) -> None:
    one, two = (TableSink(PIPELINE, tmp_path, "r1") for _ in range(2))
    first, second = batches(3, 7)
    both = [in_files(sink, first, 0) for sink in (one, two)]
    for sink, frames in zip((one, two), both, strict=True):
        sink.take(frames, 0)
    filled(tmp_path / "whole", 3)
    assert rows_of(tmp_path, "q") == rows_of(tmp_path / "whole", "q")
    one.take(in_files(one, second, 1), 1)
    *_, otherwise = batches(3, 6)
    with pytest.raises(TokenMismatch, match="batch 1"):
        two.take(in_files(two, otherwise, 1), 1)


def test_a_file_that_the_driver_cannot_see_is_not_committed(tmp_path: Path) -> None:
    sink = filled(tmp_path, 3)
    *_, second = batches(3, 7)
    frames = in_files(sink, second, 1)
    rows = rows_of(tmp_path, "q")
    for path in files_in(tmp_path / "q"):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UnseenFile, match=r"has written .* bytes there: .* share"):
        sink.take(frames, 1)
    for path in files_in(tmp_path / "q"):
        path.unlink()
    with pytest.raises(UnseenFile, match="it is not there"):
        TableSink(PIPELINE, tmp_path, "r1").take(frames, 1)
    assert DeltaTable(str(tmp_path / "q")).transaction_version("r1") == 0
    assert rows


def test_statistics_never_exclude_a_row(tmp_path: Path) -> None:
    """Delta has milliseconds, no dates after the year 9999, and no NaN."""
    key = pa.struct([("a", pa.string()), ("x", pa.float64())])
    schema = pa.schema(
        [("run", pa.string()), ("n", pa.int64()), ("t", TIME), ("s", pa.string()), ("key", key)]
    )
    times = [1, 1_700_000_000_123_456, None]
    keys = [{"a": "b" * 40, "x": 0.5}, None, {"a": "ab", "x": float("nan")}]
    rows = pa.table(
        {
            "run": ["r/%"] * 3,
            "n": [5, None, -7],
            "t": pa.array(times, pa.int64()).cast(TIME),
            "s": ["full", "late", "late"],
            "key": pa.array(keys, key),
        },
        schema=schema,
    )
    DeltaTable.create(tmp_path / "t", schema, partition_by=["run"])
    file = write_file(tmp_path, "t", rows, schema)
    assert is_ours(Path(file.path).name)
    assert json.loads(file.stats) == {
        "numRecords": 3,
        "minValues": {
            "n": -7, "t": "1970-01-01T00:00:00.000Z", "s": "full", "key": {"a": "ab"}
        },
        "maxValues": {
            "n": 5, "t": "2023-11-14T22:13:20.124Z", "s": "late",
            "key": {"a": "b" * 32 + "\U0010ffff"},
        },
        "nullCount": {"n": 1, "t": 1, "s": 0, "key": {"a": 1, "x": 1}},
    }  # fmt: skip
    log = TableLog(tmp_path / "t", "r/%")
    assert log.append([file], Token(0, {}))
    table = DeltaTable(str(tmp_path / "t"))
    for column, value in (("n", 5), ("n", -7), ("t", times[0]), ("t", times[1]), ("s", "late")):
        wanted = pa.scalar(value, schema.field(column).type)
        found = table.to_pyarrow_dataset().to_table(
            filter=(pc.field("run") == "r/%") & (pc.field(column) == wanted)
        )
        assert len(found) == (2 if column == "s" else 1)


def test_statistics_of_dates_that_have_no_spelling_are_the_nearest_ones(tmp_path: Path) -> None:
    schema = pa.schema([("run", pa.string()), ("t", TIME)])
    times = pa.array([-(1 << 62), 1 << 62], pa.int64()).cast(TIME)
    rows = pa.table([["r", "r"], times], schema=schema)
    stats = json.loads(write_file(tmp_path, "t", rows, schema).stats)
    assert stats["minValues"] == {"t": "0001-01-01T00:00:00.000Z"}
    assert stats["maxValues"] == {"t": "9999-12-31T23:59:59.999Z"}


def test_every_column_has_statistics_that_deltalake_reads_right(tmp_path: Path) -> None:
    filled(tmp_path, 3, 7)
    found = DeltaTable(str(tmp_path / "q")).to_pyarrow_dataset()
    kept = found.to_table(filter=(pc.field("run") == "r1") & (pc.field("pane") != "early"))
    assert len(kept) == len(found.to_table()) > 0
    names = [name for name in found.schema.names if name not in {"offsets", "values", "op"}]
    for name in names:
        assert len(found.to_table(filter=pc.field(name).is_valid())) == len(kept), name


def test_small_results_are_passed_on_as_they_are(tmp_path: Path) -> None:
    sink = TableSink(PIPELINE, tmp_path, "r1")
    (frames,) = batches(7)
    size = sum(len(one.frame) for one in frames if one.kind != "metric")
    stage = sink.file_stage(0, size)
    assert stage.of(frames) == frames
    below = FileStage(stage.file, stage.run, 0, stage.folder, stage.schemas, size - 1)
    assert {one.kind for one in below.of(frames)} == {DATA_FILE, "metric"}
