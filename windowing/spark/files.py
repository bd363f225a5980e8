"""Records in Parquet files, read by the workers that scan them: no row goes through the JVM.

Spark lists the folder, cuts batches and remembers in the checkpoint which files it has taken; all
that it sends to a worker is their names. Reading a row in the JVM, and sending it to Python, takes
as much time as scanning it (ADR 49).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from windowing.model.run_errors import BadRecords
from windowing.model.source import Source
from windowing.places import is_remote, place
from windowing.spark.pieces import Batches
from windowing.spark.reading import RawStream

WITHOUT_ROWS: Final = {
    "spark.driver.extraJavaOptions": "-Xss8m -XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
"""Settings for sessions in which the JVM reads no rows, to be given before they start: it plans and
passes on messages, which is not worth compiling twice."""

# What Spark's source of whole files has; only the path is selected, and no content read.
_FILES: Final = "path string, modificationTime timestamp, length long, content binary"

_RAW: Final = {
    "partition": pa.int32(),
    "offset": pa.int64(),
    "value": pa.binary(),
    "control": pa.binary(),
    "append_us": pa.int64(),
}
_NEEDED: Final = ("partition", "offset", "value")
# Of Spark's Kafka source: what stands in them would be lost, and with it control records.
_UNREAD: Final = {"headers": "control", "timestampType": "append_us"}
_ROWS: Final = 100_000


def parquet_files(
    spark: SparkSession, folder: str, source: Source | None, *, files_per_batch: int | None = None
) -> RawStream:
    """Return the records of a growing folder of Parquet files, for `windowed`.

    A file has the columns `partition`, `offset` and `value` (text or bytes, in the source's
    format), and where they are needed `topic`, `control` and `append_us`. Files are taken in the
    order of their modification times, each once, and must not change. A partition's offsets
    increase from batch to batch, and for a fused plan from file to file, too.

    Args:
        spark: the session; the workers must see the folder under the same name.
        folder: on this machine, or `hdfs://host:port/folder`.
        source: defines the lanes; None: partitions are numbered as lanes already.
        files_per_batch: how many files a batch has at most; None: all that are new.
    """
    reader = spark.readStream.format("binaryFile").schema(_FILES)
    if files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_batch)
    names = reader.option("pathGlobFilter", "*.parquet").load(folder).select("path")

    def rows(batches: Batches) -> Batches:
        for batch in batches:
            for name in batch.column("path").to_pylist():
                yield from _rows(name, source)

    return RawStream(names, rows)


def _rows(name: str, source: Source | None) -> Iterator[pa.RecordBatch]:
    """Yield the raw rows of a file."""
    # Spark writes a local path with its scheme, and nothing in it encoded.
    where = place(name.removeprefix("file:"))
    file = pq.ParquetFile(where.open("rb") if is_remote(where) else where)
    try:
        names = set(file.schema_arrow.names)
        _check(name, names)
        columns = [column for column in (*_RAW, "topic") if column in names]
        for batch in file.iter_batches(_ROWS, columns=columns, use_threads=False):
            yield _raw(batch, source)
    finally:
        file.close(force=True)


def _check(name: str, columns: set[str]) -> None:
    """Refuse a file that is not one of records.

    Raises:
        BadRecords: a column is missing, or one is there that is not read.
    """
    for column in _NEEDED:
        if column not in columns:
            msg = (
                f"{name} has no column {column!r} (it has {', '.join(sorted(columns))}): "
                "lanes are put in order by partition and offset, so give every record both"
            )
            raise BadRecords(msg)
    for column, wanted in _UNREAD.items():
        if column in columns and wanted not in columns:
            msg = (
                f"{name} has {column!r} and no {wanted!r}: workers do not read it from files; use "
                "windowed(spark.readStream.parquet(…), pipeline), or write the column"
            )
            raise BadRecords(msg)


def _raw(rows: pa.RecordBatch, source: Source | None) -> pa.RecordBatch:
    """Return rows of a file as raw rows, with partitions numbered as lanes."""
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    if source is not None:
        columns["partition"] = _lanes(rows, source)
    nothing = pa.nulls(len(rows))
    raw = [columns.get(name, nothing).cast(type_) for name, type_ in _RAW.items()]
    return pa.RecordBatch.from_arrays(raw, [*_RAW])


def _lanes(rows: pa.RecordBatch, source: Source) -> pa.Array:
    """Return the number of each row's lane.

    Raises:
        BadRecords: the rows are of a topic that the source does not have, or do not say of which.
    """
    names = ["topic", "partition"] if "topic" in rows.schema.names else ["partition"]
    if len(names) == 1 and len(source.parts) > 1:
        msg = "the files have no column 'topic', and the pipeline reads several: give it"
        raise BadRecords(msg)
    places = pl.DataFrame(rows.select(names))
    distinct = places.unique()
    numbers = [_number(source, *place) for place in distinct.iter_rows()]
    numbered = distinct.with_columns(lane=pl.Series(numbers, dtype=pl.Int32))
    found = places.join(numbered, on=names, how="left", maintain_order="left")
    return found["lane"].to_arrow()


def _number(source: Source, *place: Any) -> int:
    """Return the number of a lane; an undeclared partition has a foreign one."""
    topics = [part.topic for part in source.parts]
    topic, partition = place if len(place) > 1 else (topics[0], *place)
    if topic not in topics:
        msg = f"a record is of topic {topic!r}, and the pipeline reads {', '.join(topics)}"
        raise BadRecords(msg)
    number = source.number(topic, partition)
    if number is None:
        times, plus = source.foreign(topic)
        return partition * times + plus
    return number
