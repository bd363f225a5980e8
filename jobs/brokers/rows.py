"""The topics of a pipeline as a stream of Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everyone knows

from infra.kafka_settings import settings_for
from infra.kafka_spelling import for_java
from windowing.model import Pipeline
from windowing.model.source import Source
from windowing.spark.sources.raw import raw_rows


def kafka_rows(
    spark: SparkSession,
    pipeline: Pipeline,
    bootstrap: str,
    max_offsets: int | None,
    *,
    first: Mapping[int, int] | None = None,
    end: Mapping[int, int] | None = None,
    secrets: Path,
) -> DataFrame:
    """Read the topic as a stream of raw rows.

    Args:
        pipeline: its source is read, from the beginning unless a checkpoint says otherwise.
        max_offsets: offsets per batch, at most, over all partitions; None: no limit.
        first: start offsets by lane number; None: the topic's beginning.
        end: per lane, the first offset to leave out; None: read everything.
        secrets: a folder visible to driver and executors, with the login's files.
    """
    client = for_java(settings_for(bootstrap), secrets)
    reader = (
        spark.readStream.format("kafka")
        .options(**{f"kafka.{name}": value for name, value in client.items()})
        .option("subscribe", ",".join(part.topic for part in pipeline.source.parts))
        .option("startingOffsets", _starting(pipeline.source, first))
        .option("includeHeaders", "true")
        .option("kafka.isolation.level", "read_committed")
        # A record that retention deleted before we read it is an error, never a silent gap.
        .option("failOnDataLoss", "true")
    )
    if max_offsets is not None:
        reader = reader.option("maxOffsetsPerTrigger", max_offsets)
    rows = raw_rows(reader.load(), pipeline.source)
    if end is None:
        return rows
    # A stream does not end by itself; records after the end are read and filtered out.
    ends = F.create_map(*(F.lit(number) for pair in end.items() for number in pair))
    # Records without a lane are not filtered out: they are an error in the lanes' stage.
    inside = F.col("offset") < ends[F.col("partition")]
    return rows.where((F.col("partition") < 0) | inside)


def _starting(source: Source, first: Mapping[int, int] | None) -> str:
    if first is None:
        return "earliest"
    begins: dict[str, dict[str, int]] = {}
    for lane, offset in first.items():
        part, partition = source.place(lane)
        begins.setdefault(part.topic, {})[str(partition)] = offset
    return json.dumps(begins)
