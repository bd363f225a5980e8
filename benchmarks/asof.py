"""As-of joins against Spark's interval join, on the same events.

Half of the lanes are trades, half are prices. Ours gives each trade the newest price of its key, at
most a second old; Spark's outer join of two streams gives all prices of that second, and to choose
the newest would cost more. Both read every event as JSON, keep their state in RocksDB, and discard
the rows. Each run has a process of its own; paths alternate.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everyone knows
from rich.console import Console

from benchmarks.events import DELAY_MS_MAX, LANES, Load, dataset, events_of
from benchmarks.figures import RECORDS
from benchmarks.paths import Timing, checkpoint, configure, run
from infra import jvm
from infra.layout import ROOT
from jobs.session import session
from windowing.engine.plan import plan_of
from windowing.model import Pipeline, parse_pipeline
from windowing.spark import SETTINGS, WITHOUT_ROWS, parquet_files
from windowing.spark.plan import RAW_SCHEMA, emissions

PATHS: Final = ("slackwater", "spark rocksdb")
_EVENTS = 4_000_000
_WITHIN_S = 1
_TRADES: Final = LANES // 2
_OPTIONS = "spark.driver.extraJavaOptions"

console = Console()


def pipeline_of() -> Pipeline:
    """Return the join as a pipeline; the lanes of both topics are those of the events."""
    side = """source: {{topic: {topic}, partitions: {lanes}, format: json,
      event_time: {{field: ts, unit: ms}}, fields: {{key: string, amount: int}},
      disorder: {{slack: {slack} seconds}}}}"""
    sides = {
        topic: side.format(topic=topic, lanes=lanes, slack=DELAY_MS_MAX // 1_000)
        for topic, lanes in (("trades", _TRADES), ("prices", LANES - _TRADES))
    }
    return parse_pipeline(
        f"""
name: benchmark
join:
  left: {{{sides["trades"]}}}
  right: {{{sides["prices"]}}}
  kind: asof
  within: {_WITHIN_S} seconds
  equal: [key]
  select: {{amount: left.amount, price: right.amount}}
late: {{policy: drop}}
sink: {{table: benchmark}}
""",
        file="benchmark.yml",
    )


def main(
    *,
    events: Annotated[int, typer.Option(min=1_000, help="How many events.")] = _EVENTS,
    rounds: Annotated[int, typer.Option(min=1, help="How often each path runs.")] = 3,
    batches: Annotated[int, typer.Option(min=2, help="Into how many batches they are cut.")] = 8,
    keys: Annotated[int, typer.Option(min=1, help="How many keys.")] = 100_000,
    cores: Annotated[int, typer.Option(min=1, help="How many cores each run may use.")] = 2,
    memory: Annotated[str, typer.Option(help="The heap of each JVM.")] = "2g",
    path: Annotated[str | None, typer.Option(hidden=True)] = None,
    data: Annotated[Path | None, typer.Option(hidden=True)] = None,
) -> None:
    """Measure events per second of both joins, and their ratio within each round."""
    if path is not None and data is not None:
        print(json.dumps(asdict(_timed(path, data, cores, memory))))
        return
    folder = dataset(RECORDS / "data", Load.dense(events, batches, keys))
    ratios = list[float]()
    for number in range(rounds):
        speeds = {one: _child(one, folder, cores, memory).rows_per_s for one in PATHS}
        ratios.append(speeds[PATHS[0]] / speeds[PATHS[1]])
        shown = ", ".join(f"{one} {speed / 1_000:,.0f} k rows/s" for one, speed in speeds.items())
        console.print(f"round {number + 1}: {shown}, ours / Spark's {ratios[-1]:.2f}")
    console.print(f"as-of join / interval join: {statistics.median(ratios):.2f} (median)")


def _child(path: str, data: Path, cores: int, memory: str) -> Timing:
    asked = ["--path", path, "--data", str(data), "--cores", str(cores), "--memory", memory]
    command = ["taskset", "--cpu-list", f"0-{cores - 1}", sys.executable, "-m", "benchmarks.asof"]
    done = subprocess.run([*command, *asked], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return Timing(**json.loads(done.stdout.splitlines()[-1]))


def _timed(path: str, data: Path, cores: int, memory: str) -> Timing:
    ours = path == PATHS[0]
    # The JVM's memory cannot be set once it runs.
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {memory} pyspark-shell"
    deployed = {_OPTIONS: " ".join([SETTINGS[_OPTIONS], *jvm.EXECUTOR])} | dict(WITHOUT_ROWS)
    spark = session(
        "slackwater benchmark",
        master=f"local[{cores}]",
        parallelism=cores,
        jars="",
        more=deployed if ours else {},
    )
    spark.sparkContext.setLogLevel("ERROR")
    try:
        configure(spark, path)
        with checkpoint() as folder:
            stream = _ours(spark, data) if ours else interval_join(spark, data)
            writer = stream.writeStream.format("noop").option("checkpointLocation", str(folder))
            return run(writer.outputMode("append"), events_of(data))
    finally:
        spark.stop()


def _ours(spark: SparkSession, data: Path) -> DataFrame:
    pipeline = pipeline_of()
    records = parquet_files(spark, str(data), None, files_per_batch=LANES)
    return emissions(records, pipeline, fused=plan_of(pipeline).why_lanes is None)


def interval_join(spark: SparkSession, data: Path) -> DataFrame:
    """Return every trade with every price of its key in the second before it."""
    trades = _side(spark, data, "trade", f"partition < {_TRADES}")
    prices = _side(spark, data, "price", f"partition >= {_TRADES}")
    near = f"""trade_key = price_key AND price_time <= trade_time
        AND price_time >= trade_time - INTERVAL {_WITHIN_S} SECONDS"""
    return trades.join(prices, F.expr(near), "leftOuter")


def _side(spark: SparkSession, data: Path, name: str, lanes: str) -> DataFrame:
    rows = spark.readStream.schema(f"{RAW_SCHEMA}, ts long, key string, amount long")
    value = F.from_json(F.col("value").cast("string"), "ts long, key string, amount long")
    return (
        rows.option("maxFilesPerTrigger", LANES)
        .parquet(str(data))
        .where(lanes)
        .select(value.alias("event"))
        .select(
            F.timestamp_millis("event.ts").alias(f"{name}_time"),
            F.col("event.key").alias(f"{name}_key"),
            F.col("event.amount").alias(f"{name}_amount"),
        )
        .withWatermark(f"{name}_time", f"{DELAY_MS_MAX // 1_000} seconds")
    )


if __name__ == "__main__":
    typer.run(main)
