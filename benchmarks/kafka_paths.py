"""The paths from a Kafka topic into a Delta table: our job's, and Spark's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from benchmarks.cases import Case, is_fused, pipeline_of
from benchmarks.events import batch_files
from benchmarks.paths import (
    Timing,
    built_in,
    checkpoint,
    comparable,
    configure,
    counted,
    of_built_in,
    run,
)
from infra.layout import DELTA_JARS
from infra.spark import connector_jars
from jobs.brokers.rows import kafka_rows
from windowing.spark.plan import emissions
from windowing.spark.sinks import RunPlace, sink_of


@dataclass(frozen=True)
class Topic:
    """Where the events are.

    Attributes:
        bootstrap: `host:port` of the broker.
        batch: how many records a batch takes.
    """

    bootstrap: str
    name: str
    batch: int


DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Its default of 50 tasks for a table's log is meant for large tables on clusters.
    "spark.databricks.delta.snapshotPartitions": "2",
}
"""What a session needs to write Delta tables in the JVM, as our jobs do not."""


def jars(*, with_delta: bool) -> str:
    """Return Spark's Kafka source and, for its own windows, Delta, as `spark.jars` wants them."""
    delta = sorted(str(jar) for jar in DELTA_JARS.glob("*.jar")) if with_delta else []
    return ",".join([connector_jars(), *delta])


def into_table(
    spark: SparkSession, path: str, case: Case, topic: Topic, table: Path | None = None
) -> Timing:
    """Run a path over a topic into Delta tables.

    Args:
        spark: a session with `jars`, and `DELTA` for windows of its own.
        path: whose windows they are.
        table: the folder of the tables; None: a temporary one.
    """
    configure(spark, path)
    # Without batches of no data Spark's own windows would keep the last ones.
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", path.startswith("spark"))
    with checkpoint() as folder:
        table, state = table or folder / "tables", str(folder / "checkpoint")
        if path == "slackwater":
            pipeline = pipeline_of(case, topic.name)
            raw = kafka_rows(
                spark, pipeline, topic.bootstrap, topic.batch, secrets=folder / "secrets"
            )
            sink = sink_of(pipeline).open(RunPlace(pipeline, "benchmark", table))
            emitted = emissions(raw, pipeline, fused=is_fused(pipeline))
            writer = emitted.writeStream.foreachBatch(sink.write)
        elif path == "floor":
            writer = _records(spark, topic).mapInArrow(counted, "n long").writeStream.format("noop")
        else:
            rows = of_built_in(built_in(_records(spark, topic), case), case)
            writer = rows.writeStream.format("delta").option("path", str(table))
        return run(writer.option("checkpointLocation", state).outputMode("append"))


def results(spark: SparkSession, path: str, case: Case, topic: Topic) -> pl.DataFrame:
    """Return what a path writes into its table, as `benchmarks.paths.ROW`, sorted."""
    with checkpoint() as folder:
        table = folder / "tables"
        into_table(spark, path, case, topic, table)
        if path != "slackwater":
            return comparable(_table(table))
        rows = _table(table / pipeline_of(case).flows[0].name).select(
            pl.col("window_start").dt.epoch("us").alias("start_us"),
            pl.col("window_end").dt.epoch("us").alias("end_us"),
            pl.col("key").struct.unnest(),
            pl.col("values").struct.unnest(),
        )
        return comparable(rows)


def fill(spark: SparkSession, data: Path, topic: Topic) -> None:
    """Append the values of a data set to a topic, each lane to its partition, in order."""
    to = {"kafka.bootstrap.servers": topic.bootstrap, "topic": topic.name}
    for files in batch_files(data):
        for lane, file in enumerate(files):
            rows = spark.read.parquet(str(file)).repartition(1).sortWithinPartitions("offset")
            values = rows.selectExpr("value", f"{lane} as partition")
            values.write.format("kafka").options(**to).save()


def _table(folder: Path) -> pl.DataFrame:
    return pl.DataFrame(DeltaTable(str(folder)).to_pyarrow_table())


def _records(spark: SparkSession, topic: Topic) -> DataFrame:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", topic.bootstrap)
    reader = reader.option("subscribe", topic.name).option("startingOffsets", "earliest")
    return reader.option("maxOffsetsPerTrigger", topic.batch).load()
