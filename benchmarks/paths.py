"""The paths that are compared: ours, and Spark's own `window()` on either state provider."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everyone knows

from benchmarks.events import DELAY_MS_MAX, END_US, LANES
from windowing.engine.frames import from_bytes
from windowing.engine.wids import bounds_of
from windowing.model import Pipeline, parse_pipeline
from windowing.spark.plan import RAW_SCHEMA, emissions

_SCHEMA = f"{RAW_SCHEMA}, ts long, key string, amount long"
_STORE = "spark.sql.streaming.stateStore"
_STATE = "org.apache.spark.sql.execution.streaming.state"
ROCKSDB = f"{_STATE}.RocksDBStateStoreProvider"
IN_MEMORY = f"{_STATE}.HDFSBackedStateStoreProvider"

_QUERY = "windows"


@dataclass(frozen=True)
class Windows:
    """One workload: which windows, in minutes; count, sum and max per key."""

    name: str
    range_min: int
    slide_min: int


@dataclass(frozen=True)
class Way:
    """One way to compute them."""

    name: str
    provider: str
    ours: bool = False
    fused: bool = False
    typed: bool = False


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


WORKLOADS = (
    Windows("tumbling 1 min", 1, 1),
    Windows("sliding 10 / 1 min", 10, 1),
    Windows("sliding 60 / 1 min", 60, 1),
)
OURS = Way("slackwater", ROCKSDB, ours=True, fused=True)
PATHS = (
    OURS,
    Way("slackwater lanes", ROCKSDB, ours=True),
    Way("spark in-memory", IN_MEMORY),
    Way("spark rocksdb", ROCKSDB),
    Way("spark in-memory typed", IN_MEMORY, typed=True),
)


def pipeline_of(windows: Windows) -> Pipeline:
    """The workload as a pipeline."""
    return parse_pipeline(
        f"""
name: benchmark
source:
  topic: events
  partitions: {LANES}
  format: json
  event_time: {{field: ts, unit: ms}}
  fields: {{key: string, amount: int}}
  disorder: {{slack: {DELAY_MS_MAX // 1000} seconds}}
queries:
  {_QUERY}:
    window: RANGE {windows.range_min} minutes SLIDE {windows.slide_min} minutes WATTR ts
    group_by: [key]
    aggregates: {{n: count, total: sum(amount), largest: max(amount)}}
sink: {{table: benchmark}}
""",
        file="benchmark.yml",
    )


def stream(spark: SparkSession, path: Way, windows: Windows, data: Path) -> DataFrame:
    """The stream of results, in the form in which the path gives them to its sink."""
    spark.conf.set(f"{_STORE}.providerClass", path.provider)
    # The in-memory provider has no format 2.
    spark.conf.set(f"{_STORE}.checkpointFormatVersion", 2 if path.provider == ROCKSDB else 1)
    rows = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", LANES).parquet(str(data))
    if path.ours:
        raw = rows.select("partition", "offset", "value", "control", "append_us")
        return emissions(raw, pipeline_of(windows), fused=path.fused)
    if not path.typed:
        text = F.from_json(F.col("value").cast("string"), "ts long, key string, amount long")
        rows = rows.select(text.alias("value")).select("value.*")
    timed = rows.select(F.timestamp_millis("ts").alias("time"), "key", "amount")
    window = F.window("time", f"{windows.range_min} minutes", f"{windows.slide_min} minutes")
    return (
        timed.withWatermark("time", f"{DELAY_MS_MAX // 1000} seconds")
        .groupBy(window.alias("window"), "key")
        .agg(
            F.count("*").alias("n"),
            F.sum("amount").alias("total"),
            F.max("amount").alias("largest"),
        )
    )


def timed(spark: SparkSession, path: Way, windows: Windows, data: Path) -> Timing:
    """Run a path over a data set into a sink that takes every row and keeps none."""
    batches = _run(stream(spark, path, windows, data), lambda writer: writer.format("noop"))
    (first_rows, first_s), *warm = batches
    warm_rows = sum(rows for rows, _ in warm)
    return Timing(first_rows + warm_rows, first_s, warm_rows, sum(s for _, s in warm))


def results(spark: SparkSession, path: Way, windows: Windows, data: Path) -> pl.DataFrame:
    """What a path computes: `end_us`, `key`, `n`, `total`, `largest`, sorted."""
    parts: list[pl.DataFrame] = []
    collect = _frames_of(windows) if path.ours else _rows_of

    def keep(batch: DataFrame, _: int) -> None:
        parts.extend(collect(batch))

    _run(stream(spark, path, windows, data), lambda writer: writer.foreachBatch(keep))
    return pl.concat(parts).filter(pl.col("end_us") < END_US).sort("end_us", "key")


def _run(results_: DataFrame, sink: Callable[..., object]) -> list[tuple[int, float]]:
    """Events and seconds of each batch that had any."""
    checkpoint = tempfile.mkdtemp(prefix="slackwater-benchmark-")
    try:
        writer = results_.writeStream.option("checkpointLocation", checkpoint)
        query = sink(writer.outputMode("append")).trigger(availableNow=True).start()
        query.awaitTermination()
        progress = [p for p in query.recentProgress if p["numInputRows"] > 0]
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)
    return [(p["numInputRows"], p["durationMs"]["triggerExecution"] / 1_000) for p in progress]


_COLUMNS = {
    "end_us": pl.Int64,
    "key": pl.String,
    "n": pl.Int64,
    "total": pl.Int64,
    "largest": pl.Int64,
}


def _frames_of(windows: Windows) -> Callable[[DataFrame], list[pl.DataFrame]]:
    window = pipeline_of(windows).queries[0].window

    def collect(batch: DataFrame) -> list[pl.DataFrame]:
        frames = [from_bytes(bytes(row.frame)) for row in batch.collect() if row.kind == "result"]
        return [
            frame.unnest("key", "values")
            .with_columns(
                end_us=pl.Series([bounds_of(window, wid)[1] for wid in frame["window_id"]])
            )
            .select(*_COLUMNS)
            for frame in frames
        ]

    return collect


def _rows_of(batch: DataFrame) -> list[pl.DataFrame]:
    end_us = F.unix_micros("window.end").alias("end_us")
    rows = batch.select(end_us, "key", "n", "total", "largest").collect()
    return [pl.DataFrame([tuple(row) for row in rows], schema=_COLUMNS, orient="row")]
