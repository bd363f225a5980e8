"""The Spark job as one lazy DataFrame: pack, lanes, shards; or fused: scan, shards.

A stage is a stateful operator of Spark's: its state a map state, its rows pandas frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, GroupedData
from pyspark.sql import functions as F  # noqa: N812 - the name that everyone knows
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from windowing.engine.plan import plan_of
from windowing.model import Pipeline
from windowing.model.run_errors import BadRecords
from windowing.spark.sources.reading import SETTINGS as OF_ROWS
from windowing.spark.sources.reading import RawStream
from windowing.spark.stages import (
    CHUNK_SCHEMA,
    EMISSION_SCHEMA,
    PARCEL_SCHEMA,
    RAW_SCHEMA,
    FusedShardStage,
    LaneStage,
    ShardStage,
    packer,
    scanner,
)
from windowing.spark.storage.slots import SLOTS, number_of, slot_of
from windowing.spark.storage.store import Copies, MapStateStore, may_copy

# As types and not as text, which every task would have the JVM parse.
_KEY = StructType([StructField("key", StringType())])
_VALUE = StructType([StructField("value", BinaryType())])


def store_of_key(
    handle: StatefulProcessorHandle, copies: Copies | None = None
) -> Callable[[], MapStateStore]:
    """Return what makes the store of the current grouping key; to be called in `init`.

    Args:
        copies: this worker's, of large values; None: it keeps none.
    """
    state = handle.getMapState("state", _KEY, _VALUE)
    return partial(MapStateStore, state, copies)


def stepped(
    stage: LaneStage | ShardStage, number: int, rows: Iterator[pd.DataFrame]
) -> pd.DataFrame:
    """Run a step of a stage, over rows as Spark gives them; return rows as it takes them."""
    messages = [message for frame in rows for message in frame[stage.takes]]
    return pd.DataFrame(stage.step(number, messages), columns=list(stage.gives))


class Processor(StatefulProcessor):  # type: ignore[misc]  # pyspark is untyped
    """An operator with a lane or a shard for each key."""

    def __init__(self, stage: LaneStage | ShardStage) -> None:
        self._stage = stage

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Initialise; Spark calls this once per task."""
        self._stage.open(store_of_key(handle, self._stage.copies()))

    def handleInitialState(  # noqa: N802 - the name is Spark's
        self,
        key: Any,
        initialState: pd.DataFrame,  # noqa: N803
        timerValues: Any,  # noqa: N803
    ) -> None:
        """Store a part of the key's seed, in the first batch."""
        del key, timerValues
        self._stage.begin_with(zip(initialState["key"], initialState["value"], strict=True))

    def handleInputRows(  # noqa: N802 - the name is Spark's
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Process all messages for one lane or shard in this batch."""
        del timerValues
        yield stepped(self._stage, number_of(int(key[0])), rows)

    def close(self) -> None:
        """Do nothing: Spark owns the state."""


_STREAMING = "org.apache.spark.sql.execution.streaming"
_STATE = "spark.sql.streaming.stateStore"

# Required settings of a session, besides its parallelism.
SETTINGS = {
    f"{_STATE}.providerClass": (f"{_STREAMING}.state.RocksDBStateStoreProvider"),
    f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{_STATE}.rocksdb.trackTotalNumberOfRows": "false",
    # Every state file gets a unique name, recorded in the commit log, so that two attempts at a
    # batch cannot mix their files.
    f"{_STATE}.checkpointFormatVersion": "2",
    # Hadoop's other file interface starts ten processes (readlink, chmod) for every state file on a
    # local disk, since the pip package brings no native Hadoop library. This one starts `chmod`
    # alone, and in our own sessions and clusters nothing (infra/adr/0053).
    "spark.sql.streaming.checkpointFileManagerClass": (
        f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.python.daemon.module": "windowing.spark.daemon",
    # Saves some 40 ms a batch against loopback TCP. In /tmp, since an executor's own temporary
    # folder may be deeper than the 108 bytes that a socket's path can have; only its owner may
    # connect.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.unix.domain.socket.dir": "/tmp",  # noqa: S108 - names there are random
    # Else the stages before the first stateful one have another environment, and so another daemon
    # and workers of their own: 400 MB for two cores, and seconds at the start of an executor.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # Stateful operators cannot read a command that Spark has broadcast for its size.
    "spark.broadcast.UDFCompressionThreshold": str(16 << 20),
    # No timers: batches without data would have no effect.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    **OF_ROWS,
    "spark.sql.session.timeZone": "UTC",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",
    # A query that is stopped within `foreachBatch` matches a whole stack trace by a regular
    # expression that recurses per character: StackOverflowError.
    "spark.driver.extraJavaOptions": "-Xss8m",
}


def emissions(
    raw: DataFrame | RawStream,
    pipeline: Pipeline,
    *,
    fused: bool = False,
    seed: Mapping[str, DataFrame] | None = None,
) -> DataFrame:
    """Run a pipeline's lanes and shards over a stream of raw rows.

    A checkpoint belongs to one choice of `fused`.

    Args:
        raw: a stream of `RAW_SCHEMA`, or of what workers make it of; a partition's rows may be in
            any order within a batch.
        fused: whether lanes have no separate stage. That is faster, but every task must have a
            range of offsets of each partition for itself, as from Kafka, and the pipeline must
            allow it (`windowing.engine.plan.Plan.why_lanes`).
        seed: the state that a checkpoint without batches begins with
            (`windowing.spark.storage.seed`).

    Raises:
        BadRecords: the pipeline cannot be run so.

    Returns:
        a stream of `EMISSION_SCHEMA`: frames as bytes, tagged `result` or `early` (with their
        query), `dead_letter` or `metric`, for a sink that writes all frames of a batch under its
        id.
    """
    pipeline = pipeline.keeping_zones()  # workers may have others installed
    plan = plan_of(pipeline)
    stage = partial(_stage, seed=seed or {})
    if isinstance(raw, DataFrame):
        raw = RawStream.by_the_jvm(raw)
    copies = may_copy(raw.stream.sparkSession.conf)
    if fused:
        if plan.why_lanes is not None:
            msg = f"lanes need a stage of their own: {plan.why_lanes}; leave out fused=True"
            raise BadRecords(msg)
        scanned = raw.through(scanner(pipeline.text), PARCEL_SCHEMA)
        settling = FusedShardStage(pipeline.text, copies=copies)
        return stage(scanned, "shard", plan.shards, settling, EMISSION_SCHEMA)
    pack = packer(pipeline.text, pipeline.source.secrets)
    chunks = raw.through(pack, CHUNK_SCHEMA)
    lanes = LaneStage(pipeline.text, copies=copies)
    parcels = stage(chunks, "partition", plan.lanes, lanes, PARCEL_SCHEMA)
    shards = ShardStage(pipeline.text, copies=copies)
    return stage(parcels, "shard", plan.shards, shards, EMISSION_SCHEMA)


def _stage(
    rows: DataFrame,
    column: str,
    count: int,
    own: LaneStage | ShardStage,
    schema: str,
    *,
    seed: Mapping[str, DataFrame],
) -> DataFrame:
    """Add a stateful stage with a key for each of a column's numbers, which are below `count`."""
    grouped = partial(_by_slot, count=count)
    return grouped(rows, column).transformWithStateInPandas(
        Processor(own),
        schema,
        "Append",
        "None",
        initialState=grouped(seed[column], column) if column in seed else None,
    )


def _by_slot(rows: DataFrame, column: str, count: int) -> GroupedData:
    slots = F.array(*(F.lit(slot_of(number)) for number in range(count)))
    by = SLOTS[column]
    return rows.select(
        F.element_at(slots, F.col(column) + 1).alias(by),
        *(name for name in rows.columns if name != column),
    ).groupBy(by)


__all__ = ["RAW_SCHEMA", "SETTINGS", "emissions"]
