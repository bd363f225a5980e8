"""What a small batch costs: of no rows, of four, of a thousand, on two warm cores.

One query takes batches of all sizes in turn, so that what disturbs the machine disturbs all; the
medians are of those after the first hundred of each, when the JVM has compiled what they need.
Where the time goes is Spark's own account (`durationMs`, and the state operators' metrics).
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer
from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter
from rich.console import Console
from rich.table import Table

from benchmarks.cases import CASE, is_fused, pipeline_of
from benchmarks.events import LANES, START_MS
from jobs.session import session
from windowing.spark.plan import RAW_SCHEMA, emissions
from windowing.spark.sinks import RunPlace, sink_of

SIZES = (0, 4, 1_000)
_STEP_MS = 5_000
_KEYS = 10_000
_SEED = 20_130_101

Medians = dict[int, dict[str, float]]
"""Milliseconds of each part of a batch, by the batch's number of rows."""

console = Console()


def main(
    *,
    rounds: Annotated[int, typer.Option(min=1, help="How many batches of each size.")] = 30,
    warm_up: Annotated[int, typer.Option(min=0, help="How many before these.")] = 100,
    cores: Annotated[int, typer.Option(min=1, help="How many cores.")] = 2,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of the session, NAME=VALUE; may be repeated."),
    ] = None,
    parallelism: Annotated[
        int | None, typer.Option(help="Tasks of a stage; default: as many as cores.")
    ] = None,
    case: Annotated[str, typer.Option(help="Whose pipeline.")] = "tumbling_1",
    sink: Annotated[str, typer.Option(help="`table`, the job's own, or `noop`.")] = "table",
    as_json: Annotated[bool, typer.Option("--json", help="Print medians as JSON.")] = False,
) -> None:
    """Measure what a small batch costs, and where the time goes."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    options = " ".join(f"--conf {setting}" for setting in settings or [])
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{options} pyspark-shell"
    spark = session(
        "slackwater latency", master=f"local[{cores}]", parallelism=parallelism or cores
    )
    spark.sparkContext.setLogLevel("ERROR")
    try:
        for setting in settings or []:
            name, _, value = setting.partition("=")
            if name.startswith("spark.sql"):  # also where a session sets its own
                spark.conf.set(name, value)
        medians = measured(spark, case, sink, rounds, warm_up)
    finally:
        spark.stop()
    if as_json:
        print(json.dumps(medians))
    else:
        _show(medians)


def measured(
    spark: SparkSession, case: str, sink: str, rounds: int, warm_up: int
) -> dict[int, dict[str, float]]:
    """Return the median milliseconds of each part of a batch, by the batch's number of rows.

    Args:
        sink: `table` or `noop`.
        rounds: how many batches of each size count.
        warm_up: how many of each run before these.
    """
    count = (rounds + warm_up) * len(SIZES)
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(count + 1))
    pipeline = pipeline_of(CASE[case])
    with tempfile.TemporaryDirectory(prefix="slackwater-benchmark-") as name:
        folder = Path(name)
        _write_batches(folder / "batches", count)
        raw = spark.readStream.schema(RAW_SCHEMA).option("maxFilesPerTrigger", 1)
        raw = raw.parquet(str(folder / "batches"))
        stream = emissions(raw, pipeline, fused=is_fused(pipeline)).writeStream
        stream = stream.option("checkpointLocation", str(folder / "checkpoint"))
        if sink == "table":
            place = RunPlace(pipeline, "benchmark", folder / "tables")
            stream = stream.foreachBatch(sink_of(pipeline).open(place).write)
        else:
            stream = stream.format("noop")
        batches = _progress(stream)
    return {
        size: _medians([_parts(p) for p in batches[number :: len(SIZES)][warm_up:]])
        for number, size in enumerate(SIZES)
    }


def _write_batches(folder: Path, count: int) -> None:
    folder.mkdir()
    random = np.random.default_rng(_SEED)
    offset = 0
    for number in range(count):
        size = SIZES[number % len(SIZES)]
        key, amount = random.integers(0, _KEYS, size), random.integers(-1_000, 1_000, size)
        ts_ms = START_MS + number * _STEP_MS + random.integers(0, _STEP_MS, size)
        rows = zip(ts_ms.tolist(), key.tolist(), amount.tolist(), strict=True)
        values = [
            json.dumps({"ts": ts, "key": f"user-{k}", "amount": a}).encode() for ts, k, a in rows
        ]
        frame = pl.DataFrame(
            {
                "partition": pl.Series(np.arange(size) % LANES, dtype=pl.Int32),
                "offset": pl.Series(offset + np.arange(size) // LANES, dtype=pl.Int64),
                "value": pl.Series(values, dtype=pl.Binary),
                "control": pl.Series([None] * size, dtype=pl.Binary),
                "append_us": pl.Series([None] * size, dtype=pl.Int64),
            }
        )
        offset += size
        file = folder / f"{number:06d}.parquet"
        frame.write_parquet(file)
        os.utime(file, (number + 1, number + 1))  # the file source takes the oldest first


def _progress(stream: DataStreamWriter) -> list[dict[str, Any]]:
    query = stream.outputMode("append").trigger(availableNow=True).start()
    query.awaitTermination()
    return [json.loads(batch.json) for batch in query.recentProgress if batch["batchId"] >= 0]


def _parts(batch: dict[str, Any]) -> dict[str, float]:
    """Return the parts of a batch's time, in milliseconds; of state, summed over tasks."""
    state = {
        f"state {number}: {name}": float(operator[name])
        for number, operator in enumerate(batch["stateOperators"])
        for name in ("allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs")
    }
    return {name: float(took) for name, took in batch["durationMs"].items()} | state


def _medians(batches: Sequence[dict[str, float]]) -> dict[str, float]:
    return {
        name: statistics.median(batch.get(name, 0.0) for batch in batches) for name in batches[-1]
    }


def _show(medians: Medians) -> None:
    table = Table("median, ms", *(f"{size:,} rows" for size in SIZES))
    for name in medians[SIZES[-1]]:
        table.add_row(name, *(f"{medians[size].get(name, 0):,.0f}" for size in SIZES))
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
