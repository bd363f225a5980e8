"""Workers read from files what the JVM would send them of these, and run the same windows."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from chaos.readers.log import read_events
from windowing.engine.reading.batches import checked, interleave
from windowing.engine.tuning import tuning
from windowing.model import load_pipeline
from windowing.spark.sources.pieces import Batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

from tests.unit.spark.test_files import RAW, write

SHOP = Path(__file__).parents[2] / "slackwater" / "template"
PAGE = Path(__file__).parents[2] / "docs" / "own-job.md"
LATE = Path(__file__).parents[1] / "data" / "pipelines" / "late-update-generous"


def test_workers_read_what_the_jvm_would_send(spark: SparkSession, tmp_path: Path) -> None:
    """Values of all sizes, null, controls; names that a URL would spell otherwise."""
    from windowing.spark import parquet_files
    from windowing.spark.sources.reading import RawStream
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


@pytest.mark.parametrize(
    ("pipeline", "events", "per_file", "fused"),
    [
        (SHOP / "pipelines" / "orders.yml", SHOP / "data" / "events.jsonl", 150, False),
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
