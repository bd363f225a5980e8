"""Run a pipeline over a file of events on Spark, in this process, for `run --engine spark`.

The file becomes one Parquet file per batch, and the stream reads one file at a time, so the batches
are the caller's.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import polars as pl
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from jobs.driver.failures import windowing_error
from jobs.driver.noting import noting
from jobs.session import PARALLELISM, session
from windowing.engine.changes import QueriesChanged, after_all
from windowing.engine.plan import plan_of
from windowing.engine.reading.pack import RawRows
from windowing.model import Pipeline
from windowing.model.run_errors import WindowingError
from windowing.runtime.local import Output
from windowing.spark.plan import emissions
from windowing.spark.sinks import MemorySink
from windowing.spark.sources.files import RAW, WITHOUT_ROWS, carried_type, parquet_files
from windowing.spark.stages import raw_schema


def run(
    pipeline: Pipeline,
    batches: Iterable[Mapping[int, RawRows]],
    spark: SparkSession | None = None,
) -> Output:
    """Run a pipeline over batches, one micro-batch each, from an empty checkpoint.

    Args:
        batches: per partition, rows in increasing offset.
        spark: a session to use; default: one is started and stopped.
    """
    with tempfile.TemporaryDirectory(prefix="slackwater-run-") as folder:
        if spark is not None:
            return _run(pipeline, batches, spark, Path(folder))
        with own_session(f"slackwater {pipeline.name}", more=WITHOUT_ROWS) as own:
            return _run(pipeline, batches, own, Path(folder))


@contextmanager
def own_session(
    name: str,
    *,
    master: str = "local[2]",
    jars: str = "",
    more: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """Provide a session, with its output kept off the terminal; stop it unless it was there before.

    Args:
        master: where it runs; default: on this machine.
        jars: comma-separated, needed besides Spark.
        more: further settings.
    """
    with _quiet():
        before = SparkSession.getActiveSession()
        own = session(name, master=master, jars=jars, more=more)
        try:
            yield own
        finally:
            if before is None:
                own.stop()


def _run(
    pipeline: Pipeline,
    batches: Iterable[Mapping[int, RawRows]],
    spark: SparkSession,
    folder: Path,
) -> Output:
    files = min(PARALLELISM, pipeline.source.partitions)
    written = _written(batches, folder, files)
    raw = parquet_files(spark, str(written), None, files_per_batch=files)
    for attempt in count():
        own, changes = folder / str(attempt), list[QueriesChanged]()
        own.mkdir()
        sink = MemorySink(pipeline)
        # A file has all rows of its partitions in a batch, and one task reads it.
        fused = plan_of(pipeline).why_lanes is None
        try:
            finish(emissions(raw, pipeline, fused=fused), noting(sink.write, changes), own)
        except (WindowingError, StreamingQueryException):
            if not changes:
                raise
            # The log is short: it is read from the beginning again.
            pipeline = after_all(pipeline, changes[0].taken)
        else:
            return sink.output
    raise AssertionError


def one_file_a_batch(
    spark: SparkSession,
    batches: Iterable[Mapping[int, RawRows]],
    folder: Path,
    carried: Sequence[str] = (),
) -> DataFrame:
    """Write batches as files; return the stream of `RAW_SCHEMA` that reads them one by one.

    The JVM reads them and sends the rows to workers, as from a topic.

    Args:
        carried: the metadata that the rows carry.
    """
    source = _written(batches, folder, 1)
    raw = spark.readStream.schema(raw_schema(carried)).option("maxFilesPerTrigger", 1)
    return raw.parquet(str(source))


def _written(batches: Iterable[Mapping[int, RawRows]], folder: Path, files: int) -> Path:
    """Return a new folder with so many files for each batch, each with some of the partitions."""
    source = folder / "batches"
    source.mkdir()
    for number, batch in enumerate(batches):
        for file in range(files):
            part = {lane: rows for lane, rows in batch.items() if lane % files == file}
            name = f"{number:09d}-{file}" if file else f"{number:09d}"
            _write(source / f"{name}.parquet", part, number)
    return source


def finish(stream: DataFrame, sink: Callable[[DataFrame, int], None], folder: Path) -> None:
    """Run a stream over everything in its source, into a sink made for `foreachBatch`.

    Raises:
        WindowingError: the runtime refused something; any other error is Spark's own.
    """
    writer = stream.writeStream.foreachBatch(sink).outputMode("append")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        raise windowing_error(str(error)) or error from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep output of Spark and its Python workers off the terminal; show its end if they fail."""
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
                **rows.metadata,
            },
            schema=RAW | {name: carried_type(name) for name in rows.metadata},
        )
        for partition, rows in batch.items()
    ]
    whole = pl.concat([pl.DataFrame(schema=RAW), *frames], how="diagonal")
    whole.write_parquet(path)
    # The file source reads the oldest file first.
    os.utime(path, (number + 1, number + 1))
