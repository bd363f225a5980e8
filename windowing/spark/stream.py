"""`windowed`: a pipeline's windows in any Structured Streaming program, as rows for any sink.

    spark = SparkSession.builder.config(map=SETTINGS).getOrCreate()
    orders = load_pipeline("pipelines/orders.yml")
    records = spark.readStream.format("kafka").option("includeHeaders", "true")...load()
    windowed(records, orders).writeStream.format("parquet")...start()

Rows are exactly those of a deployed pipeline. Duplicates after a restart depend on the sink:
Spark's file sink and Delta keep each batch once, `foreachBatch` may see one twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from windowing.model import Pipeline
from windowing.model.run_errors import BadRecords
from windowing.spark.flat_rows import FlatRows, spark_type
from windowing.spark.plan import SETTINGS, emissions
from windowing.spark.sources.raw import raw_rows
from windowing.spark.sources.reading import RawStream
from windowing.spark.storage.shipped import packed, unpacked

_NEEDED: Final = tuple(
    name
    for name in SETTINGS
    if name.startswith("spark.sql.streaming") or name == "spark.sql.session.timeZone"
)


def windowed(
    records: DataFrame | RawStream,
    pipeline: Pipeline,
    *,
    fused: bool = False,
) -> DataFrame:
    """Run a pipeline over a stream of records; return results and dead letters as one stream.

    Args:
        records: a stream with `partition`, `offset` and `value` (text or bytes, in the source's
            format) of each record, and where they are there `topic`, `headers` or `control`,
            `timestamp` and `timestampType` or `append_us`, as from Spark's Kafka source with
            `includeHeaders`. In any order within a batch; offsets of a partition increase with
            batches. Or the stream of `windowing.spark.parquet_files`.
        pipeline: from `windowing.model.load_pipeline`. Its `sink`, `schedule` and `quality` are
            ignored.
        fused: whether lanes have no separate stage: faster, where every task has a range of
            offsets for itself, as from Spark's Kafka source or `parquet_files`. A checkpoint
            belongs to one of both.

    Returns:
        a stream, to be written in append mode, with these columns, null where they have no meaning:

        - `kind`: `result` or `dead_letter`
        - `query`; null for a dead letter that no query could read
        - `window_id`, `window_start`, `window_end` (timestamps)
        - the key fields and the aggregates of all queries, each under its own name, or as
          `key.NAME` and `values.NAME` if the name is one of these columns
        - `pane` (`full`, `late`; `early` rows are provisional), `revision`, `records`, `offsets`
        - `op`, `tombstone`, `absorbed_by`, if some query retracts, has `having`, or has sessions
          that may be absorbed
        - `source`, `partition`, `offset`, `reason`: for a dead letter

    Raises:
        BadRecords: a column of `records` is missing, it is not a stream, the session was started
            without `SETTINGS`, two queries have a column of the same name and different types, or
            the pipeline cannot be fused.
    """
    stream = records.stream if isinstance(records, RawStream) else records
    if not stream.isStreaming:
        msg = "the records are no stream: use readStream, or LocalEngine of windowing.runtime.local"
        raise BadRecords(msg)
    _check_settings(stream.sparkSession)
    flat = FlatRows(pipeline)
    raw = records if isinstance(records, RawStream) else raw_rows(records, pipeline.source)
    rows = emissions(raw, pipeline, fused=fused)
    return rows.mapInArrow(_flattener(pipeline.text), StructType.fromDDL(spark_type(flat.schema)))


def _check_settings(spark: SparkSession) -> None:
    """Check that the session has the settings that the state depends on.

    Raises:
        BadRecords: a setting is missing or different.
    """
    for name in _NEEDED:
        found = spark.conf.get(name, None)
        if found != SETTINGS[name]:
            msg = (
                f"the session has {name} = {found}, and windows need {SETTINGS[name]}: start it "
                "with SparkSession.builder.config(map=windowing.spark.SETTINGS)"
            )
            raise BadRecords(msg)


def _flattener(
    text: str,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the last stage, for `mapInArrow`: from frames to flat rows."""
    file = packed(text)

    def flatten(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = FlatRows(unpacked(file))
        for batch in batches:
            yield from rows.of(batch).to_batches()

    return flatten


__all__ = ["SETTINGS", "windowed"]
