"""Spark's own windows: how they compare with ours, and an audit of a job that uses them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from tests.unit.chaos.audit.orders import EVENTS, events, found_out, miscounted, report, write_log
from windowing.engine.reading.batches import batches
from windowing.engine.reading.pack import RawRows
from windowing.model import parse_pipeline
from windowing.model.run_errors import WindowingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession


PIPELINE = """
name: p
source:
  topic: t
  partitions: 1
  format: json
  event_time: {field: ts, unit: s}
  fields: {k: string, v: "int?"}
  disorder: {slack: 5 seconds}
queries:
  q:
    window: RANGE 20 seconds SLIDE 10 seconds WATTR ts ORIGIN 3 seconds
    group_by: [k]
    aggregates: {n: count, sum: sum(v), mean: mean(v), low: min(v), high: max(v)}
"""
# The second record of 4 s comes when 60 s have been seen: late, unless it is in the batch that says
# so, or in the next, since Spark refuses by the watermark of the batch before.
LOG = [(4, "a", 1), (14, "a", None), (60, "b", 5), (61, "b", 5), (4, "a", 9), (100, "b", 7)]


def cut(rows: int) -> Iterator[Mapping[int, RawRows]]:
    from chaos.readers.log import LogRecord

    log = [
        LogRecord("t", 0, offset, json.dumps({"ts": ts, "k": k, "v": v}).encode(), None, None)
        for offset, (ts, k, v) in enumerate(LOG)
    ]
    return batches(log, rows)


def test_a_late_row_counts_or_not_by_where_the_log_is_cut(spark: SparkSession) -> None:
    from jobs.builtin import run

    provider = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(provider)
    found = {}
    for rows in (1, len(LOG)):
        output = run(parse_pipeline(PIPELINE), cut(rows), spark)
        assert not output.dead_letters
        found[rows] = {
            (r.window_start_us // 10**6, r.window_end_us // 10**6, r.key): r for r in output.rows
        }
    extents = {place[:2] for place in found[1]}
    assert extents == {(3, 13), (3, 23), (13, 33), (43, 63), (53, 73)}
    one, whole = (found[rows][3, 13, ("a",)] for rows in (1, len(LOG)))
    assert (one.window_id, one.records, one.values["sum"]) == (0, 1, 1)
    assert (whole.window_id, whole.records, whole.values["sum"]) == (0, 2, 10)
    both = found[1][3, 23, ("a",)].values
    assert both == {"n": 2, "sum": 1, "mean": 1.0, "low": 1, "high": 1}
    assert spark.conf.get(provider) == before


def test_what_spark_cannot_say_is_refused(spark: SparkSession) -> None:
    from jobs.builtin import run

    rows = parse_pipeline(PIPELINE.replace("slack: 5 seconds", "slack: 5 rows"))
    with pytest.raises(WindowingError, match="'q' cannot be said"):
        run(rows, cut(1), spark)


BATCH = 400
NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"


def written_by_spark(spark: SparkSession, folder: Path) -> Path:
    """Run the job over the events, cut into batches; return where its rows are."""
    from pyspark.sql import functions as F  # noqa: N812

    found, source, out = events(), folder / "in", folder / "out"
    source.mkdir()
    for start in range(0, EVENTS, BATCH):
        file = source / f"{start:06}.parquet"
        pl.DataFrame(found[start : start + BATCH]).write_parquet(file)
        os.utime(file, (start, start))  # the oldest file is read first
    rows = spark.readStream.schema("ts long, key string, amount long")
    stream = rows.option("maxFilesPerTrigger", 1).parquet(str(source))
    timed = stream.withColumn("at", F.timestamp_millis("ts")).withWatermark("at", "5 seconds")
    windows = timed.groupBy(F.window("at", "20 seconds", "10 seconds"), "key").agg(
        F.count("*").alias("n"), F.sum("amount").alias("total"), F.max("amount").alias("largest")
    )
    writer = windows.writeStream.format("parquet").option("path", str(out))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).outputMode("append")
    # Our jobs have no batches without data, and Spark's own windows need them.
    spark.conf.set(NO_DATA, "true")
    try:
        writer.trigger(availableNow=True).start().awaitTermination()
    finally:
        spark.conf.set(NO_DATA, "false")
    return out


def test_spark_is_judged_by_what_its_schedule_leaves_open(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_log(tmp_path, range_s=20, slide_s=10)
    output = written_by_spark(spark, tmp_path)
    told = report("spark-window", tmp_path, output)
    assert told["verdicts"]["explained"] > 5
    assert told["verdicts"]["equal"] > 50
    assert 0 < told["undetermined"] < 0.9

    undecided = {(one["start"], *one["key"]) for one in told["told"]}
    rows = pl.concat(map(pl.read_parquet, sorted(output.glob("*.parquet")))).sort("window", "key")
    start = pl.col("window").struct.field("start")
    spelled = start.dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    names = rows.select(spelled, "key").rows()
    sure = [place for place, name in enumerate(names) if name not in undecided]
    for why, bad in miscounted(rows, sure[5]):
        found_out("spark-window", tmp_path, bad, why)
    # A window that the watermark has not reached: as if sent before its records were there.
    window, later = pl.col("window").struct, pl.duration(minutes=1)
    moved = pl.struct(window.field("start") + later, window.field("end") + later).alias("window")
    last = rows.tail(1).with_columns(moved).cast(dict(rows.schema))
    found_out("spark-window", tmp_path, pl.concat([rows, last]), "impossible: ")


def test_sessions_that_touch_are_one_in_spark(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812 - the name that everyone knows

    def sessions(*seconds: int) -> int:
        rows = spark.createDataFrame([(one,) for one in seconds], "s long")
        time = rows.select(F.timestamp_seconds("s").alias("ts"))
        return time.groupBy(F.session_window("ts", "30 minutes")).count().count()

    assert sessions(0, 1799) == sessions(0, 1800) == 1
    assert sessions(0, 1801) == 2
