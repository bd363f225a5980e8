"""What sinks write of a batch beside the rows that are compared: how late it was written."""

from __future__ import annotations

import time
from collections import namedtuple
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from windowing.engine.lane import Lane
from windowing.engine.plan import plan_of
from windowing.engine.reading.pack import RawRows, pack
from windowing.engine.reading.rules import ValueRules
from windowing.engine.shard import Shard
from windowing.engine.storage.frames import to_bytes
from windowing.engine.storage.state import MemoryStore
from windowing.model import parse_pipeline

PIPELINE = """
name: p
source: {{topic: s, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
  fields: {{v: int}}, disorder: ordered}}
shards: 1
queries: {{q: {{window: {window}, aggregates: {{n: count}}}}}}
"""
Frame = namedtuple("Frame", "kind query frame")


def written(window: str, times_us: list[int]) -> dict[str, Any]:
    """The columns of the rows of a batch with these records."""
    from windowing.spark.sinks.rows import BatchRows

    pipeline = parse_pipeline(PIPELINE.format(window=window))
    values = [f'{{"ts":{ts},"v":1}}'.encode() for ts in times_us]
    offsets, nothing = list(range(len(values))), [None] * len(values)
    raw = RawRows(offsets=offsets, values=values, controls=nothing, append_us=nothing)
    plan = plan_of(pipeline)
    parcels = Lane(plan, 0).step(MemoryStore(), [pack(raw, ValueRules.of(pipeline, 0))])
    emission = Shard(plan).step(MemoryStore(), parcels)
    frames = [Frame("result", "q", to_bytes(emission.results["q"]))]
    return BatchRows(pipeline, "r1").tables(frames, 3)["q"].to_pydict()


def test_a_row_says_how_long_after_its_end_it_was_written() -> None:
    now_us = time.time_ns() // 1000
    end_us = now_us // 1_000_000 * 1_000_000
    found = written("RANGE 1 s SLIDE 1 s WATTR ts", [end_us - 500_000, end_us + 1_000_000])
    assert found["batch_id"] == [3]
    assert now_us - end_us <= found["lag_us"][0] < now_us - end_us + 60_000_000


def test_what_ends_at_no_time_has_no_lag() -> None:
    assert written("RANGE 2 rows SLIDE 2 rows WATTR row_num", [5, 6])["lag_us"] == [None]


def test_a_table_without_lags_gets_the_column(tmp_path: Path) -> None:
    from windowing.spark.sinks import TableSink
    from windowing.spark.sinks.rows import schemas

    pipeline = parse_pipeline(PIPELINE.format(window="RANGE 1 s SLIDE 1 s WATTR ts"))
    new = schemas(pipeline)["q"]
    old = new.remove(new.get_field_index("lag_us"))
    DeltaTable.create(tmp_path / "q", old, partition_by=["run"])
    for _ in range(2):
        TableSink(pipeline, tmp_path, "r1")
    found = DeltaTable(tmp_path / "q")
    assert {field.name for field in found.schema().fields} == set(new.names)
    assert found.version() == 1
