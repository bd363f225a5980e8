"""Records in Parquet files, read by the workers that scan them: no row goes through the JVM.

Spark lists the folder, cuts batches and remembers in the checkpoint which files it has taken; all
that it sends to a worker is their names. Reading a row in the JVM, and sending it to Python, takes
as much time as scanning it (ADR 49).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Final

import polars as pl
from pyspark.sql import SparkSession

from windowing.engine.tuning import tuning
from windowing.files.places import is_remote, place
from windowing.model.metadata import KEY, TIMESTAMP, header_of, is_metadata
from windowing.model.run_errors import BadRecords
from windowing.model.source import Source
from windowing.spark.sources.pieces import Batches, Stage
from windowing.spark.sources.raw import NEEDED
from windowing.spark.sources.reading import RawStream

WITHOUT_ROWS: Final = {
    "spark.driver.extraJavaOptions": "-Xss8m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
"""Settings for sessions in which the JVM reads no rows, to be given before they start: it plans and
passes on messages, which is not worth compiling twice."""

# What Spark's source of whole files has; only the path is selected, and no content read.
_FILES: Final = "path string, modificationTime timestamp, length long, content binary"

RAW: Final = {
    "partition": pl.Int32,
    "offset": pl.Int64,
    "value": pl.Binary,
    "control": pl.Binary,
    "append_us": pl.Int64,
}
"""The columns of raw rows, as of `windowing.spark.stages.RAW_SCHEMA`."""

# Of Spark's Kafka source: what stands in them would be lost, and with it control records.
_UNREAD: Final = {"headers": "control", "timestampType": "append_us"}


def parquet_files(
    spark: SparkSession, folder: str, source: Source | None, *, files_per_batch: int | None = None
) -> RawStream:
    """Return the records of a growing folder of Parquet files, for `windowed`.

    A file has the columns `partition`, `offset` and `value` (text or bytes, in the source's
    format), and where they are needed `topic`, `control` and `append_us`; where the pipeline uses
    them, `key`, `timestamp_us` and `headers` (a list of `key` and `value`). Files are taken in the
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
    return RawStream(names, file_reader(source))


def file_reader(source: Source | None) -> Stage:
    """Return the stage from the names of files, in a column `path`, to their raw rows.

    Args:
        source: defines the lanes; None: partitions are numbered as lanes already.
    """

    def read(batches: Batches) -> Batches:
        for batch in batches:
            for name in batch.column("path").to_pylist():
                yield from _rows(name, source)

    return read


def _rows(name: str, source: Source | None) -> Batches:
    # Spark writes a local path with its scheme, and nothing in it encoded.
    where = place(name.removeprefix("file:"))
    file = pl.scan_parquet(where.read_bytes() if is_remote(where) else where, glob=False)
    columns = file.collect_schema().names()
    _check(name, columns)
    used = () if source is None else source.carried
    own = {column: _metadata(column, {*columns}) for column in used}
    own |= {column: pl.col(column) for column in columns if is_metadata(column)}
    wanted = [pl.col(column) for column in (*RAW, "topic") if column in columns]
    rows = file.select(*wanted, *(one.alias(column) for column, one in own.items()))
    most = tuning().file_read_rows
    for start in count(step=most):
        read = rows.slice(start, most).collect()
        for part in read.iter_slices(tuning().file_packed_rows):
            raw = _raw(part, source).to_arrow(compat_level=pl.CompatLevel.newest())
            yield from raw.to_batches()
        if len(read) < most:
            break


def _check(name: str, columns: Sequence[str]) -> None:
    """Refuse a file that is not one of records.

    Raises:
        BadRecords: a column is missing, or one is there that is not read.
    """
    for column in NEEDED:
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


def _raw(rows: pl.DataFrame, source: Source | None) -> pl.DataFrame:
    """Return rows of a file as raw rows, with partitions numbered as lanes."""
    if source is not None:
        rows = rows.with_columns(_lanes(rows, source))
    absent = (pl.lit(None).alias(name) for name in RAW if name not in rows.columns)
    types = RAW | {name: carried_type(name) for name in rows.columns if is_metadata(name)}
    found = rows.with_columns(absent)
    return found.select(pl.col(name).cast(type_) for name, type_ in types.items())


def carried_type(name: str) -> type[pl.DataType]:
    """Return the type of the column in raw rows of a name of metadata."""
    return pl.Int64 if name == TIMESTAMP else pl.Binary


def _metadata(name: str, columns: set[str]) -> pl.Expr:
    """Return what a record has besides its value, null where the file does not say."""
    if name == TIMESTAMP and "timestamp_us" in columns:
        return pl.col("timestamp_us")
    if name == KEY and "key" in columns:
        return pl.col("key")
    header = header_of(name)
    if header is None or "headers" not in columns:
        return pl.lit(None, dtype=carried_type(name))
    one = pl.element().struct
    own = one.field("value").filter(one.field("key") == header)
    return pl.col("headers").list.eval(own).list.last()


def _lanes(rows: pl.DataFrame, source: Source) -> pl.Series:
    """Return the number of each row's lane.

    Raises:
        BadRecords: the rows are of a topic that the source does not have, or do not say of which.
    """
    if "topic" not in rows.columns:
        if len(source.parts) > 1:
            msg = "the files have no column 'topic', and the pipeline reads several: give it"
            raise BadRecords(msg)
        rows = rows.with_columns(topic=pl.lit(source.parts[0].topic))
    places = rows.select("topic", "partition")
    distinct = places.unique()
    numbers = [_number(source, topic, partition) for topic, partition in distinct.iter_rows()]
    numbered = distinct.with_columns(lane=pl.Series(numbers, dtype=pl.Int32))
    found = places.join(numbered, on=places.columns, how="left", maintain_order="left")
    return found["lane"].alias("partition")


def _number(source: Source, topic: str, partition: int) -> int:
    """Return the number of a lane; an undeclared partition has a foreign one."""
    topics = [part.topic for part in source.parts]
    if topic not in topics:
        msg = f"a record is of topic {topic!r}, and the pipeline reads {', '.join(topics)}"
        raise BadRecords(msg)
    number = source.number(topic, partition)
    times, plus = source.foreign(topic)
    return partition * times + plus if number is None else number
