"""An audit of a real Spark job with `window()`: clean, then with three planted defects."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from typer.testing import CliRunner

from slackwater.main import app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = """
name: orders
source:
  topic: orders
  partitions: 2
  format: json
  event_time: {field: ts, unit: ms}
  fields: {key: string, amount: int}
  disorder: {slack: 5 seconds}
queries:
  per_key:
    window: RANGE 20 seconds SLIDE 10 seconds WATTR ts
    group_by: [key]
    aggregates: {n: count, total: sum(amount), largest: max(amount)}
"""
EVENTS, BATCH = 4_000, 400
NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"


def events() -> list[dict[str, int | str]]:
    """In the order of arrival: one in fifty up to half a minute late."""
    random_ = random.Random(7)
    return [
        {
            "ts": number * 100 - (random_.randrange(30_000) if random_.random() < 0.02 else 0),
            "key": f"k{random_.randrange(3)}",
            "amount": random_.randrange(-50, 50),
        }
        for number in range(EVENTS)
    ]


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


def audited(folder: Path, output: Path, *more: str) -> tuple[int, str]:
    words = ["audit", "--like", "spark-window", str(folder / "orders.yml"), "--output", str(output)]
    words += ["--input", str(folder / "events.jsonl"), *more]
    done = CliRunner().invoke(app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def lost(row: pl.Expr) -> list[pl.Expr]:
    return [pl.when(row).then(pl.col("n") - 1).otherwise("n").alias("n")]


def doubled(row: pl.Expr) -> list[pl.Expr]:
    return [pl.when(row).then(pl.col("n") + 1).otherwise("n").alias("n")]


@pytest.mark.spark
@pytest.mark.slow
def test_spark_is_judged_by_what_its_schedule_leaves_open(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "orders.yml").write_text(FILE)
    lines = (
        {"source": "orders", "partition": n % 2, "offset": n // 2, "value": event}
        for n, event in enumerate(events())
    )
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    output = written_by_spark(spark, tmp_path)
    code, said = audited(tmp_path, output, "--report", str(tmp_path / "page"))
    assert code == 0, said
    told = json.loads((tmp_path / "page" / "report.json").read_text())
    assert told["verdicts"]["impossible"] == told["verdicts"]["unproven"] == 0
    assert told["verdicts"]["explained"] > 5
    assert told["verdicts"]["equal"] > 50
    assert 0 < told["undetermined"] < 0.9

    undecided = {(one["start"], *one["key"]) for one in told["told"]}
    rows = pl.concat(map(pl.read_parquet, sorted(output.glob("*.parquet")))).sort("window", "key")
    start = pl.col("window").struct.field("start")
    spelled = start.dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    names = rows.select(spelled, "key").rows()
    sure = [place for place, name in enumerate(names) if name not in undecided]
    planted: dict[str, Callable[[pl.Expr], list[pl.Expr]]] = {"lost": lost, "doubled": doubled}
    for place, (why, change) in zip(sure[5:], planted.items(), strict=False):
        bad = rows.with_row_index().with_columns(change(pl.col("index") == place)).drop("index")
        bad.write_parquet(tmp_path / f"{why}.parquet")
        code, said = audited(tmp_path, tmp_path / f"{why}.parquet")
        assert (code, said.count("impossible: ")) == (1, 1), said
        assert why in said
    # A window that the watermark has not reached: as if sent before its records were there.
    window, later = pl.col("window").struct, pl.duration(minutes=1)
    moved = pl.struct(window.field("start") + later, window.field("end") + later).alias("window")
    last = rows.tail(1).with_columns(moved).cast(dict(rows.schema))
    pl.concat([rows, last]).write_parquet(tmp_path / "early.parquet")
    code, said = audited(tmp_path, tmp_path / "early.parquet")
    assert code == 1
    assert "impossible: " in said
