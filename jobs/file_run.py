"""Run a pipeline over a file of events on Spark, in this process: what `run --engine spark` does.

The file becomes one Parquet file per batch, and the stream reads one file at a time, so the cuts
are those that the caller asked for.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import polars as pl
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from jobs.failures import windowing_error
from jobs.session import session
from windowing.local import Output
from windowing.pack import RawRows
from windowing.spark.plan import RAW_SCHEMA, emissions
from windowing.spark.sinks import MemorySink
from windowing.spec import Pipeline

_RAW = {
    "partition": pl.Int32,
    "offset": pl.Int64,
    "value": pl.Binary,
    "control": pl.Binary,
    "append_us": pl.Int64,
}


def run(
    pipeline: Pipeline,
    batches: Iterable[Mapping[int, RawRows]],
    spark: SparkSession | None = None,
) -> Output:
    """Run a pipeline over batches, each of them one micro-batch, from an empty checkpoint.

    Args:
        pipeline: the pipeline.
        batches: per partition, rows in increasing offset.
        spark: a session to use; by default one is started and stopped.
    """
    with tempfile.TemporaryDirectory(prefix="slackwater-run-") as folder:
        if spark is not None:
            return _run(pipeline, batches, spark, Path(folder))
        with _quiet():
            own = session(f"slackwater {pipeline.name}", master="local[2]")
            try:
                return _run(pipeline, batches, own, Path(folder))
            finally:
                own.stop()


def _run(
    pipeline: Pipeline,
    batches: Iterable[Mapping[int, RawRows]],
    spark: SparkSession,
    folder: Path,
) -> Output:
    source = folder / "batches"
    source.mkdir()
    for number, batch in enumerate(batches):
        _write(source / f"{number:09d}.parquet", batch, number)
    raw = spark.readStream.schema(RAW_SCHEMA).option("maxFilesPerTrigger", 1)
    sink = MemorySink(pipeline)
    query = (
        emissions(raw.parquet(str(source)), pipeline)
        .writeStream.foreachBatch(sink.write)
        .outputMode("append")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        raise windowing_error(str(error)) or error from None
    return sink.output


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what Spark and its Python workers say off the terminal; show its end if they fail."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            yield
        except StreamingQueryException:
            said.seek(0)
            os.write(terminal, said.read()[-4000:])
            raise
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


def _write(path: Path, batch: Mapping[int, RawRows], number: int) -> None:
    frames = [
        pl.DataFrame(
            {
                "partition": [partition] * len(rows.offsets),
                "offset": rows.offsets,
                "value": rows.values,
                "control": rows.controls,
                "append_us": rows.append_us,
            },
            schema=_RAW,
        )
        for partition, rows in batch.items()
    ]
    pl.concat(frames).write_parquet(path)
    # The file source takes files by age: the oldest first.
    os.utime(path, (number + 1, number + 1))
