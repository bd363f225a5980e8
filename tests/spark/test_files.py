"""Workers read from files what the JVM would send them of these, and run the same windows."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.readers.log import read_events
from windowing.engine.input.batches import checked, interleave
from windowing.engine.tuning import tuned, tuning
from windowing.model import load_pipeline, parse_pipeline
from windowing.model.run_errors import BadRecords
from windowing.model.source import Source
from windowing.spark.files import file_reader
from windowing.spark.pieces import Batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHOP = Path(__file__).parents[2] / "slackwater" / "template"
PAGE = Path(__file__).parents[2] / "docs" / "own-job.md"
LATE = Path(__file__).parents[1] / "data" / "pipelines" / "late-update-generous"
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
JOIN = Path(__file__).parents[1] / "data" / "pipelines" / "join" / "pipeline.yml"


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


def test_partitions_become_lanes_and_foreign_ones_are_told_apart(tmp_path: Path) -> None:
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


@pytest.mark.spark
def test_workers_read_what_the_jvm_would_send(spark: SparkSession, tmp_path: Path) -> None:
    """Values of all sizes, null, controls; names that a URL would spell otherwise."""
    from windowing.spark import parquet_files
    from windowing.spark.reading import RawStream
    from windowing.spark.stages import RAW_SCHEMA

    folder = tmp_path / "a folder, 100%25 of it – ä"
    folder.mkdir()
    whole = tuning().whole_value_bytes_max
    sizes = [0, 1, whole, whole + 1, 3 * whole]
    for number in range(4):
        values = [None, *(bytes([number]) * size for size in sizes)]
        file = folder / f"{number} %20.parquet"
        controls = [b"{}" if row == number else None for row in range(len(values))]
        write(
            file,
            partition=[number % 2] * len(values),
            offset=[*range(number * 10, number * 10 + len(values))],
            value=values,
            control=controls,
            append_us=[number] * len(values),
        )
        os.utime(file, (number + 1, number + 1))
    jvm = spark.readStream.schema(RAW_SCHEMA).option("maxFilesPerTrigger", 2).parquet(str(folder))
    found = []
    for raw in (
        RawStream.by_the_jvm(jvm),
        parquet_files(spark, str(folder), None, files_per_batch=2),
    ):
        batches: list[list[dict[str, Any]]] = []
        query = (
            raw.through(as_spark_reads, RAW_SCHEMA)
            .writeStream.foreachBatch(lambda frame, _: batches.append(rows_of(frame)))  # noqa: B023
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        found.append(batches)
    assert len(found[0]) == 2
    assert found[0] == found[1]


def as_spark_reads(batches: Batches) -> Batches:
    """A stage that passes rows on; Spark has no views of bytes."""
    types = [(name, pa.binary() if name in ("value", "control") else None) for name in RAW]
    for batch in batches:
        columns = [batch[name].cast(to) if to else batch[name] for name, to in types]
        yield pa.RecordBatch.from_arrays(columns, [*RAW])


def rows_of(frame: Any) -> list[dict[str, Any]]:
    rows = [row.asDict() for row in frame.collect()]
    return sorted(rows, key=lambda row: (row["partition"], row["offset"]))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("pipeline", "events", "per_file", "fused"),
    [
        pytest.param(
            SHOP / "pipelines" / "orders.yml",
            SHOP / "data" / "events.jsonl",
            *(150, False),
            marks=pytest.mark.slow,
        ),
        (LATE / "pipeline.yml", LATE / "events.jsonl", 4, True),
    ],
)
def test_windows_over_files_are_those_of_the_same_records_from_a_stream(
    spark: SparkSession, tmp_path: Path, *, pipeline: Path, events: Path, per_file: int, fused: bool
) -> None:
    from windowing.spark import parquet_files, windowed

    own = load_pipeline(pipeline)
    # Each lane in the order of its offsets, and lanes mixed.
    records = [*interleave(checked(read_events(events), own), seed=3)]
    for number in range(0, len(records), per_file):
        part = records[number : number + per_file]
        write(
            tmp_path / f"{number:04d}.parquet",
            partition=[record.partition for record in part],
            offset=[record.offset for record in part],
            value=[record.value for record in part],
            control=[record.control for record in part],
        )
        os.utime(tmp_path / f"{number:04d}.parquet", (number + 1, number + 1))
    files = parquet_files(spark, str(tmp_path), own.source, files_per_batch=1)
    schema = "partition int, offset long, value binary, control binary"
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path))
    outputs = []
    for records_, is_fused in ((stream, False), (files, fused)):
        rows: list[str] = []
        writer = windowed(records_, own, fused=is_fused).writeStream
        query = writer.foreachBatch(lambda frame, _: rows.extend(lines(frame)))  # noqa: B023
        query.trigger(availableNow=True).start().awaitTermination()
        outputs.append(sorted(rows))
    assert len(outputs[0]) > 3
    assert outputs[0] == outputs[1]


def lines(frame: Any) -> list[str]:
    return [json.dumps(row.asDict(recursive=True), default=str) for row in frame.collect()]


@pytest.mark.spark
def test_the_example_of_the_page_runs_as_written(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import SparkSession as Session

    from windowing import spark as public

    orders = load_pipeline(SHOP / "pipelines" / "orders.yml")
    write(tmp_path / "a.parquet", partition=[0], offset=[0], value=["no JSON"])
    (code,) = re.findall(r"```py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names = {name: getattr(public, name) for name in public.__all__}
    names |= {"SparkSession": Session, "orders": orders}
    exec(compile(code.replace('"records"', repr(str(tmp_path))), str(PAGE), "exec"), names)  # noqa: S102 - our own page
    found: list[str] = []
    writer = names["rows"].writeStream.foreachBatch(lambda frame, _: found.extend(lines(frame)))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert [json.loads(line)["reason"] for line in found] == ["malformed"]


@pytest.mark.spark
def test_a_job_over_a_file_without_offsets_says_so(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    from jobs.driver.failures import windowing_error
    from windowing.spark import parquet_files, windowed

    shop = load_pipeline(SHOP / "pipelines" / "orders.yml")
    write(tmp_path / "a.parquet", partition=[0], value=["{}"])
    rows = windowed(parquet_files(spark, str(tmp_path), shop.source), shop)
    query = rows.writeStream.format("noop").trigger(availableNow=True).start()
    with pytest.raises(StreamingQueryException) as raised:
        query.awaitTermination()
    assert "a.parquet has no column 'offset'" in str(windowing_error(str(raised.value)))
