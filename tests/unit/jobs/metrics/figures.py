"""Batches and Spark's reports on them, for tests of metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from windowing.model import Pipeline, parse_pipeline
from windowing.spark.sinks.rows import METRICS, schemas
from windowing.spark.sinks.written import Portion, WrittenBatch

TEXT = """
name: tide
source: {topic: levels, partitions: LANES, format: json, event_time: {field: ts, unit: us},
  fields: {v: int}, disorder: ordered}
queries: {w: {window: RANGE 4 us SLIDE 4 us WATTR ts, aggregates: {n: count}}}
"""


def pipeline(lanes: int = 2) -> Pipeline:
    return parse_pipeline(TEXT.replace("LANES", str(lanes)))


def written(
    batch_id: int,
    lanes: Mapping[int, tuple[int, int | None]],
    *portions: Portion,
    of: Pipeline | None = None,
    dropped: int = 0,
) -> WrittenBatch:
    """A batch of lanes with so many records, and this progress after it."""
    of = of or pipeline()
    rows = [
        {
            "run": "r1",
            "lane": of.source.lane(lane),
            "query": "w",
            **{"read": records, "applied": records - dropped, "outside": 0, "dropped": dropped},
            **{"dead": 0, "redelivered": 0, "first_offset": 0, "last_offset": 1},
            **{"progress_us": progress_us, "ended": False, "batch_id": batch_id},
        }
        for lane, (records, progress_us) in lanes.items()
    ]
    return WrittenBatch(batch_id, portions, pa.Table.from_pylist(rows, schema=schemas(of)[METRICS]))


def progress(batch_id: int, ends: Mapping[str, int], *, ran: bool = True) -> dict[str, Any]:
    """Spark's report, as version 4.2.0 gives it; of a trigger with a batch, or of an idle one."""
    stages = {"latestOffset": 72, "triggerExecution": 4680}
    if ran:
        stages |= {"addBatch": 2557, "queryPlanning": 2009, "walCommit": 11}
    return {
        "timestamp": f"2026-11-23T18:50:{batch_id:02}.530Z",
        "batchId": batch_id,
        "numInputRows": 12,
        "processedRowsPerSecond": 2.5,
        "durationMs": stages,
        "stateOperators": [
            {
                "numRowsTotal": 0,
                "memoryUsedBytes": 12_776,
                "customMetrics": {"rocksdbSstFileSize": 3_469},
            }
        ],
        "sources": [
            {"endOffset": {"levels": {"0": 6, "1": 4}}, "latestOffset": {"levels": dict(ends)}}
        ],
    }
