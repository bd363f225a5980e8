"""What Spark is given to run: pack, lanes, shards, as one lazy DataFrame."""

from __future__ import annotations

from pyspark.sql import DataFrame

from windowing.model import Pipeline
from windowing.spark.stages import (
    CHUNK_SCHEMA,
    EMISSION_SCHEMA,
    PARCEL_SCHEMA,
    RAW_SCHEMA,
    LaneStage,
    ShardStage,
    packer,
)

_STREAMING = "org.apache.spark.sql.execution.streaming"
_STATE = "spark.sql.streaming.stateStore"

# What a session must be started with, beside its parallelism.
SETTINGS = {
    f"{_STATE}.providerClass": (f"{_STREAMING}.state.RocksDBStateStoreProvider"),
    f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{_STATE}.rocksdb.trackTotalNumberOfRows": "false",
    # Every state file gets a unique name that the commit log records: two attempts at one batch
    # cannot mix their files.
    f"{_STATE}.checkpointFormatVersion": "2",
    # Hadoop's other file interface starts ten processes (readlink, chmod) for every state file on a
    # local disk, since the pip package brings no native Hadoop library.
    "spark.sql.streaming.checkpointFileManagerClass": (
        f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.python.daemon.module": "windowing.spark.daemon",
    # No timers: a batch without data would change nothing.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.session.timeZone": "UTC",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",
    # To know what has interrupted it, a query that is stopped within `foreachBatch` matches a
    # whole stack trace by a regular expression that recurs at each character: StackOverflowError.
    "spark.driver.extraJavaOptions": "-Xss8m",
}


def emissions(raw: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Run a pipeline's lanes and shards over a stream of raw rows.

    Args:
        raw: a stream of `RAW_SCHEMA`: rows of each partition in any order within a batch.
        pipeline: the pipeline.

    Returns:
        a stream of `EMISSION_SCHEMA`: Arrow frames tagged `result` or `early` (with their query),
        `dead_letter` or `metric`, for a sink that writes all frames of a batch under its id.
    """
    chunks = raw.mapInArrow(packer(pipeline.text), CHUNK_SCHEMA)
    parcels = chunks.groupBy("partition").transformWithStateInPandas(
        LaneStage(pipeline.text), PARCEL_SCHEMA, "Append", "None"
    )
    return parcels.groupBy("shard").transformWithStateInPandas(
        ShardStage(pipeline.text), EMISSION_SCHEMA, "Append", "None"
    )


__all__ = ["RAW_SCHEMA", "SETTINGS", "emissions"]
