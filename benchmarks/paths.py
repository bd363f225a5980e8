"""The paths that run in Spark: ours, its own windows on either state provider, and the floors."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everyone knows
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from benchmarks.cases import Case, Sessions, is_fused, pipeline_of
from benchmarks.events import DELAY_MS_MAX, END_US, LANES, Shape, events_of
from windowing.engine.plan import plan_of
from windowing.spark import limit_batches, parquet_files, windowed
from windowing.spark.plan import RAW_SCHEMA, emissions, store_of_key
from windowing.spark.sources.reading import RawStream
from windowing.spark.storage.slots import slot_of


def bare_stages(raw: RawStream, shards: int) -> DataFrame:
    """Return how many rows there are for each shard, batch by batch."""

    def counts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        slots = [slot_of(shard) for shard in range(shards)]
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"slot": slots, "n": [batch.num_rows] * shards})

    rows = raw.through(counts, "slot long, n long")
    return rows.groupBy("slot").transformWithStateInPandas(_Total(), "n long", "Append", "None")


class _Total(StatefulProcessor):  # type: ignore[misc]  # pyspark is untyped
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._store = store_of_key(handle)

    def handleInputRows(  # noqa: N802 - the name is Spark's
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        store = self._store()
        total = int.from_bytes(store.get("n") or b"")
        total += sum(int(frame["n"].sum()) for frame in rows)
        store.put("n", total.to_bytes(8))
        yield pd.DataFrame({"n": [total]})

    def close(self) -> None:
        """Do nothing: Spark owns the state."""


BY_THE_JVM = "slackwater, rows by the JVM"
"""The path of rows that the JVM reads and sends to Python, as it does those of a topic."""

_SCHEMA = f"{RAW_SCHEMA}, ts long, key string, amount long"
_STORE = "spark.sql.streaming.stateStore"
_STATE = "org.apache.spark.sql.execution.streaming.state"
_PROVIDERS = {"rocksdb": "RocksDBStateStoreProvider", "memory": "HDFSBackedStateStoreProvider"}
ROW = {
    "start_us": pl.Int64,
    "end_us": pl.Int64,
    "key": pl.String,
    "n": pl.Int64,
    "total": pl.Int64,
    "largest": pl.Int64,
}
"""What every path computes."""

# What a job would read from a topic's settings.
_RECORD_BYTES_MAX = 1 << 20


@dataclass(frozen=True)
class Timing:
    """What one run took.

    Attributes:
        rows: events read.
        first_s: the first batch, with the start of workers and all that is compiled once.
        warm_rows, warm_s: events and time of all batches after the first.
    """

    rows: int
    first_s: float
    warm_rows: int
    warm_s: float

    @property
    def rows_per_s(self) -> float:
        """Events per second once warm."""
        return self.warm_rows / self.warm_s


def timed(spark: SparkSession, path: str, case: Case, data: Path) -> Timing:
    """Run a path over a data set into a sink that takes every row and keeps none."""
    configure(spark, path)
    with checkpoint() as folder:
        stream = _stream(spark, path, case, data)
        writer = stream.writeStream.format("noop").option("checkpointLocation", str(folder))
        return run(writer.outputMode("append"), events_of(data))


def _stream(spark: SparkSession, path: str, case: Case, data: Path) -> DataFrame:
    if path == "floor":
        return _raw(_rows(spark, data)).mapInArrow(counted, "n long")
    if path.startswith("spark"):
        return built_in(_rows(spark, data), case)
    pipeline, records = pipeline_of(case), _records(spark, path, data)
    if path == "bare stages":
        return bare_stages(records, plan_of(pipeline).shards)
    return emissions(records, pipeline, fused=is_fused(pipeline))


def _records(spark: SparkSession, path: str, data: Path) -> RawStream:
    if path == BY_THE_JVM:
        return RawStream.by_the_jvm(_raw(_rows(spark, data)))
    return parquet_files(spark, str(data), None, files_per_batch=LANES)


def results(spark: SparkSession, path: str, case: Case, data: Path) -> pl.DataFrame:
    """Return what a path computes, as `ROW`, sorted."""
    parts = list[pl.DataFrame]()

    def keep(batch: DataFrame, _: int) -> None:
        parts.append(pl.DataFrame(batch.toArrow()))

    configure(spark, path)
    with checkpoint() as folder:
        if path.startswith("spark"):
            stream = of_built_in(built_in(_rows(spark, data), case), case)
        else:
            pipeline, records = pipeline_of(case), _records(spark, path, data)
            stream = of_windows(windowed(records, pipeline, fused=is_fused(pipeline)))
        writer = stream.writeStream.foreachBatch(keep).option("checkpointLocation", str(folder))
        run(writer.outputMode("append"), events_of(data))
    return comparable(pl.concat(parts))


def built_in(rows: DataFrame, case: Case) -> DataFrame:
    """Return Spark's own windows.

    `rows` have the JSON text of each event as `value`.
    """
    rows = _READ[case.shape](rows)
    if isinstance(case.window, Sessions):
        window = F.session_window("time", f"{case.window.gap_ms - 1} milliseconds")
    else:
        length, slide = case.window.range_min, case.window.slide_min
        window = F.window("time", f"{length} minutes", f"{slide} minutes")
    return (
        rows.withWatermark("time", f"{DELAY_MS_MAX // 1000} seconds")
        .where("taken")
        .groupBy(window.alias("window"), "key")
        .agg(
            F.count("*").alias("n"),
            F.sum("amount").alias("total"),
            F.max("price").alias("largest"),
        )
    )


def _flat(rows: DataFrame) -> DataFrame:
    event = F.from_json(F.col("value").cast("string"), "ts long, key string, amount long")
    return rows.select(event.alias("event")).select(
        F.timestamp_millis("event.ts").alias("time"),
        *("event.key", "event.amount", F.col("event.amount").alias("price")),
        F.lit(True).alias("taken"),
    )


_ORDER = """ts long, customer struct<name: string, country: string>,
    order struct<price: decimal(12,2), quantity: long>, paid boolean"""


def _nested(rows: DataFrame) -> DataFrame:
    event = F.from_json(F.col("value").cast("string"), _ORDER)
    return rows.select(event.alias("event")).selectExpr(
        "timestamp_millis(event.ts) AS time",
        "event.customer.name AS key",
        "event.order.price * event.order.quantity AS amount",
        "event.order.price AS price",
        "event.paid AND upper(substr(event.customer.country, 1, 2)) <> 'XX' AS taken",
    )


_READ: dict[Shape, Callable[[DataFrame], DataFrame]] = {"flat": _flat, "nested": _nested}


def of_windows(rows: DataFrame) -> DataFrame:
    """Return the results among the rows of `windowed`, as `ROW`."""
    return rows.where("kind = 'result'").select(
        F.unix_micros("window_start").alias("start_us"),
        F.unix_micros("window_end").alias("end_us"),
        *("key", "n", "total", "largest"),
    )


def of_built_in(rows: DataFrame, case: Case) -> DataFrame:
    """Return the rows of Spark's own windows as `ROW`.

    Sessions that touch are one there and two here, so Spark's gap is a millisecond, the unit of
    time, shorter.
    """
    more_us = 1_000 if isinstance(case.window, Sessions) else 0
    return rows.select(
        F.unix_micros("window.start").alias("start_us"),
        (F.unix_micros("window.end") + more_us).alias("end_us"),
        *("key", "n", "total", "largest"),
    )


def comparable(rows: pl.DataFrame) -> pl.DataFrame:
    """Return `ROW`s in one order, money in cents, without windows of records that end others."""
    cents = rows.with_columns(pl.selectors.decimal() * 100)
    rows = cents.select(pl.col(name).cast(type_) for name, type_ in ROW.items())
    return rows.filter(pl.col("end_us") < END_US).sort("start_us", "key")


def run(writer: DataStreamWriter, events: Sequence[int] | None = None) -> Timing:
    """Run a stream over everything in its source, and time its batches.

    Args:
        events: how many each batch has, if Spark does not see them; None: as it counts them.
    """
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    batches = [one for one in query.recentProgress if one["numInputRows"] > 0]
    counts = [one["numInputRows"] for one in batches] if events is None else events
    times = [one["durationMs"]["triggerExecution"] / 1_000 for one in batches]
    (first_rows, first_s), *warm = zip(counts, times, strict=True)
    warm_rows = sum(rows for rows, _ in warm)
    return Timing(first_rows + warm_rows, first_s, warm_rows, sum(s for _, s in warm))


def configure(spark: SparkSession, path: str) -> None:
    """Keep state where the path says, RocksDB or the heap, and limit batches as a job does."""
    limit_batches(spark, _RECORD_BYTES_MAX)
    kind = "memory" if path == "spark in-memory" else "rocksdb"
    spark.conf.set(f"{_STORE}.providerClass", f"{_STATE}.{_PROVIDERS[kind]}")
    # The in-memory provider has no format 2.
    spark.conf.set(f"{_STORE}.checkpointFormatVersion", 2 if kind == "rocksdb" else 1)


@contextmanager
def checkpoint() -> Iterator[Path]:
    """Provide a folder, and delete it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="slackwater-benchmark-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rows(spark: SparkSession, data: Path) -> DataFrame:
    return spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", LANES).parquet(str(data))


def _raw(rows: DataFrame) -> DataFrame:
    return rows.select("partition", "offset", "value", "control", "append_us")


def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the number of rows of each batch: what the floor does with them."""
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"n": [batch.num_rows]})
