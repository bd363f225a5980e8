"""Workers read from files what the JVM would send them of these, and run the same windows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra import jvm
from windowing.engine.tuning import tuned
from windowing.model import load_pipeline, parse_pipeline
from windowing.model.run_errors import BadRecords
from windowing.model.source import Source
from windowing.spark.sources.files import file_reader

RAW = ("partition", "offset", "value", "control", "append_us")
COLUMNS = {
    "partition": st.integers(0, 3),
    "offset": st.integers(0, 1 << 60),
    "value": st.none() | st.binary(max_size=8),
    "control": st.none() | st.just(b'{"bound": 7}'),
    "append_us": st.none() | st.integers(0, 1 << 50),
    "other": st.just("unread"),
}
TYPES = {
    "partition": [pa.int32(), pa.int64(), pa.int16()],
    "offset": [pa.int64()],
    "value": [pa.binary(), pa.large_binary()],
    "control": [pa.binary()],
    "append_us": [pa.int64()],
    "other": [pa.string()],
}


ONE = """
name: p
source: {topic: s, partitions: 3, format: json, event_time: {field: ts, unit: us},
  fields: {k: string}, disorder: ordered}
queries: {q: {window: RANGE 1 s SLIDE 1 s WATTR ts, aggregates: {n: count}}}
"""
JOIN = Path(__file__).parents[2] / "data" / "pipelines" / "join" / "pipeline.yml"


def read(file: Path, of: Source | None) -> list[dict[str, Any]]:
    """The raw rows that a worker makes of a file."""
    names = pa.RecordBatch.from_pydict({"path": [f"file:{file}"]})
    return [row for batch in file_reader(of)(iter([names])) for row in batch.to_pylist()]


@given(data=st.data(), rows=st.integers(0, 30), in_group=st.integers(1, 40))
def test_every_row_is_read_in_its_order_whatever_wrote_the_file(
    data: st.DataObject, rows: int, in_group: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    there = ("partition", "offset", "value", *data.draw(st.sets(st.sampled_from([*COLUMNS][3:]))))
    columns = {
        name: data.draw(st.lists(COLUMNS[name], min_size=rows, max_size=rows)) for name in there
    }
    arrays = {
        name: pa.array(values, data.draw(st.sampled_from(TYPES[name])))
        for name, values in columns.items()
    }
    file = tmp_path_factory.mktemp("files") / "a.parquet"
    pq.write_table(pa.table(arrays), file, row_group_size=in_group)
    at_once = st.integers(1, 40)
    with tuned(file_read_rows=data.draw(at_once), file_packed_rows=data.draw(at_once)):
        found = read(file, None)
    nothing = [None] * rows
    expected = [columns.get(name, nothing) for name in RAW]
    assert found == [dict(zip(RAW, row, strict=True)) for row in zip(*expected, strict=True)]


def write(file: Path, **columns: list[Any]) -> Path:
    types = {"partition": pl.Int32, "control": pl.Binary}
    own = {name: type_ for name, type_ in types.items() if name in columns}
    pl.DataFrame(columns, schema_overrides=own).write_parquet(file)
    return file


def test_partitions_become_lanes_and_foreign_ones_are_distinguished(tmp_path: Path) -> None:
    of = parse_pipeline(ONE).source
    file = write(tmp_path / "a", partition=[2, 0, 7], offset=[1, 2, 3], value=["a", None, "é"])
    rows = read(file, of)
    assert [row["partition"] for row in rows[:2]] == [2, 0]
    assert of.lane(rows[2]["partition"]) == "s/7"
    assert [row["value"] for row in rows] == [b"a", None, "é".encode()]


def test_lanes_of_a_join_follow_from_topic_and_partition(tmp_path: Path) -> None:
    both = load_pipeline(JOIN).source
    columns: dict[str, list[Any]] = {"partition": [1, 0, 5], "offset": [1] * 3, "value": [b""] * 3}
    rows = read(write(tmp_path / "a", topic=["clicks", "offers", "offers"], **columns), both)
    assert [row["partition"] for row in rows[:2]] == [1, 2]
    assert both.lane(rows[2]["partition"]) == "offers/5"
    with pytest.raises(BadRecords, match="no column 'topic', and the pipeline reads several"):
        read(write(tmp_path / "b", **columns), both)
    with pytest.raises(BadRecords, match="of topic 'u', and the pipeline reads clicks, offers"):
        read(write(tmp_path / "c", topic=["u"] * 3, **columns), both)


@pytest.mark.parametrize("missing", ["partition", "offset", "value"])
def test_a_file_that_is_none_of_records_is_named(tmp_path: Path, missing: str) -> None:
    columns = {"partition": [0], "offset": [0], "value": [b""]}
    del columns[missing]
    file = write(tmp_path / "a.parquet", **columns)
    with pytest.raises(BadRecords, match=rf"a\.parquet has no column '{missing}' \(it has "):
        read(file, None)


@pytest.mark.parametrize(
    ("unread", "instead"), [("headers", "control"), ("timestampType", "append_us")]
)
def test_columns_of_kafka_that_would_be_lost_are_refused(
    tmp_path: Path, unread: str, instead: str
) -> None:
    columns: dict[str, list[Any]] = {"partition": [0], "offset": [0], "value": [b""], unread: [1]}
    with pytest.raises(BadRecords, match=f"has '{unread}' and no '{instead}': workers do not"):
        read(write(tmp_path / "a", **columns), None)
    assert read(write(tmp_path / "b", **columns, **{instead: [None]}), None)


def test_what_is_not_installed_is_not_on_the_class_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jvm, "LOCAL_FILES_JARS", tmp_path)
    monkeypatch.setenv(jvm.CLASS_PATH, "given")
    with jvm.on_the_class_path():
        assert os.environ[jvm.CLASS_PATH] == "given"
