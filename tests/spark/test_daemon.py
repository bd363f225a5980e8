"""Workers of Spark look for garbage only in what is new."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from windowing.engine.plan import SHARE_FROM
from windowing.spark.plan import RAW_SCHEMA
from windowing.spark.stages import scanner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PIPELINE = """
name: p
source:
  topic: s
  partitions: 1
  format: json
  event_time: {field: ts, unit: us}
  fields: {v: int}
  disorder: {slack: 0 seconds}
queries:
  q:
    window: RANGE 1 s SLIDE 1 s WATTR ts
    aggregates: {n: count}
"""


def test_what_a_worker_has_loaded_is_frozen(spark: SparkSession) -> None:
    stage = scanner(PIPELINE, SHARE_FROM)

    def objects(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        assert [*stage(batches)]
        counts = {"frozen": [gc.get_freeze_count()], "others": [len(gc.get_objects())]}
        yield pa.RecordBatch.from_pydict(counts)

    row = (0, 0, b'{"ts": 1, "v": 1}', None, None)
    raw = spark.createDataFrame([row], RAW_SCHEMA).coalesce(1)
    (found,) = raw.mapInArrow(objects, "frozen long, others long").collect()
    assert found.frozen > 100_000
    assert found.others < found.frozen / 10
