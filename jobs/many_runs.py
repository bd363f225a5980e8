"""Run many small pipelines over their logs as one stream, for `conform --by spark`.

A streaming query takes seconds even for little input, so pipelines share one. Lanes and shards
of all of them are keys of the same two stateful steps, and each key is processed by the stage of
its own pipeline, the same as in a single run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from jobs.file_run import finish, one_file_a_batch, own_session
from windowing.engine.reading.pack import RawRows
from windowing.model import Pipeline
from windowing.model.metadata import carried_of
from windowing.runtime.local import Output
from windowing.runtime.output import SinkFrame
from windowing.spark.plan import stepped, store_of_key
from windowing.spark.sinks import MemorySink
from windowing.spark.sources.pieces import Stage
from windowing.spark.sources.reading import RawStream
from windowing.spark.stages import (
    CHUNK_SCHEMA,
    EMISSION_SCHEMA,
    PARCEL_SCHEMA,
    LaneStage,
    ShardStage,
    packer,
)

# A key is the pipeline's number times this, and the number of the partition or shard.
_STRIDE = 1_000_000

Batches = Sequence[Mapping[int, RawRows]]
"""A log in batches: per batch, rows by partition."""


def run_all(
    runs: Sequence[tuple[Pipeline, Batches]], spark: SparkSession | None = None
) -> list[Output]:
    """Run pipelines over batches, the n-th batches of all in one micro-batch.

    Args:
        runs: each pipeline and its log, in batches.
        spark: a session to use; default: one is started and stopped.

    Raises:
        WindowingError: the runtime refused something in one of the logs; none has an output then.
    """
    if spark is None:
        with own_session("slackwater runs") as own:
            return run_all(runs, own)
    texts = [pipeline.text for pipeline, _ in runs]
    sinks = [MemorySink(pipeline) for pipeline, _ in runs]

    def take(batch: DataFrame, batch_id: int) -> None:
        frames: list[list[SinkFrame]] = [[] for _ in runs]
        for kind, query, data, number in batch.collect():
            frames[number].append(SinkFrame(kind, query, bytes(data)))
        for sink, of_run in zip(sinks, frames, strict=True):
            sink.take(of_run, batch_id)

    with tempfile.TemporaryDirectory(prefix="slackwater-runs-") as name:
        carried = carried_of(pipeline.source.carried for pipeline, _ in runs)
        logs = [log for _, log in runs]
        raw = one_file_a_batch(spark, _together(logs), Path(name), carried)
        finish(_emissions(raw, texts), take, Path(name))
    return [sink.output for sink in sinks]


def _together(logs: Sequence[Batches]) -> Iterator[dict[int, RawRows]]:
    for number in range(max(map(len, logs), default=0)):
        yield {
            run * _STRIDE + partition: rows
            for run, log in enumerate(logs)
            for partition, rows in (log[number] if number < len(log) else {}).items()
        }


def _emissions(raw: DataFrame, texts: Sequence[str]) -> DataFrame:
    chunks = RawStream.by_the_jvm(raw).through(_packer(texts), CHUNK_SCHEMA)
    parcels = chunks.groupBy("partition").transformWithStateInPandas(
        _Lanes([LaneStage(text) for text in texts]), PARCEL_SCHEMA, "Append", "None"
    )
    return parcels.groupBy("shard").transformWithStateInPandas(
        _Shards([ShardStage(text) for text in texts]),
        f"{EMISSION_SCHEMA}, run int",
        "Append",
        "None",
    )


def _packer(texts: Sequence[str]) -> Stage:
    def pack_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = pl.DataFrame(batch)
            for (number,), part in rows.group_by(pl.col("partition") // _STRIDE):
                own = part.with_columns(pl.col("partition") - number * _STRIDE)
                for chunk in packer(texts[number])(iter(own.to_arrow().to_batches())):
                    lanes = pc.add(chunk["partition"], pa.scalar(number * _STRIDE, pa.int32()))
                    yield chunk.set_column(0, "partition", lanes)

    return pack_batches


class _Stages(StatefulProcessor):  # type: ignore[misc]  # pyspark is not typed for us
    """A stage per pipeline, all sharing the key's one store."""

    def __init__(self, stages: Sequence[LaneStage | ShardStage]) -> None:
        self._stages = stages

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._store = store_of_key(handle)

    def close(self) -> None:
        """Release nothing: the state is Spark's."""

    def _rows(self, key: Any, frames: Iterator[pd.DataFrame]) -> tuple[int, pd.DataFrame]:
        """Process a key's rows with the stage of its pipeline; return that one's number, too."""
        run, number = divmod(int(key[0]), _STRIDE)
        stage = self._stages[run]
        stage.open(self._store)
        return run, stepped(stage, number, frames)


class _Lanes(_Stages):
    def handleInputRows(  # noqa: N802 - the name is Spark's
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        del timerValues
        run, sent = self._rows(key, rows)
        yield sent.assign(shard=sent["shard"] + run * _STRIDE)


class _Shards(_Stages):
    def handleInputRows(  # noqa: N802 - the name is Spark's
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        del timerValues
        run, sent = self._rows(key, rows)
        yield sent.assign(run=run)
