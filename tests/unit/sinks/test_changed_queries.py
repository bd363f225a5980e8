"""A log that changes the queries of a run: what a driver does, with a run's tables, without Spark.

No part of the batch with the change is written before the plan knows it; afterwards the tables are
what the definition says, with every record counted.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chaos.readers.delta import read_tables
from chaos.verdict.verify import verify
from tests.strategies import lane_of
from tests.unit.engine.test_convert import stores
from windowing.engine.changes import QueriesChanged, after_all
from windowing.engine.convert import convert
from windowing.engine.lane import Lane
from windowing.engine.plan import plan_of
from windowing.engine.reading.batches import batches
from windowing.engine.reading.pack import RawRows, pack
from windowing.engine.reading.rules import ValueRules
from windowing.engine.shard import Shard
from windowing.engine.storage.state import MemoryStore
from windowing.model import Pipeline, parse_pipeline
from windowing.model.file.changes import as_written
from windowing.model.file.versions import added_queries
from windowing.runtime.output import CHANGE, METRIC, SinkFrame, tagged
from windowing.semantics.view import effective
from windowing.spark.sinks import RunPlace, begin_tables
from windowing.spark.sinks.table import TableSink

TEXT = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
  fields: {k: int}, disorder: {slack: 5 us}, control: all}
shards: 2
queries:
  q: {window: RANGE 10 us SLIDE 10 us WATTR ts, group_by: [k], aggregates: {n: count}}
"""
BEFORE = parse_pipeline(TEXT)
JOINS = {
    "window": "RANGE 20 us SLIDE 10 us WATTR ts",
    "aggregates": {"n": "count"},
    "from": 40,
}


def log() -> list[Any]:
    """Two lanes with records of each instant; changes among the records that they are about."""
    found: list[Any] = []
    for lane in (0, 1):
        contents: list[dict[str, Any]] = [{"value": {"ts": ts, "k": ts % 3}} for ts in range(150)]
        contents.insert(100, {"control": {"queries": {"remove": {"new": 120}}}})
        contents.insert(35 + lane, {"control": {"queries": {"add": {"new": JOINS}}}})
        found += lane_of(contents, lane)
    return sorted(found, key=lambda one: (one.offset, one.partition))


LOG = log()


class Driver:
    """Lanes and shards, and what a driver does with them batch by batch."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.changes = folder, 0
        self.lanes = [MemoryStore() for _ in range(2)]
        self.shards = [MemoryStore() for _ in range(2)]
        self.begin(BEFORE)

    def begin(self, pipeline: Pipeline) -> None:
        self.pipeline, self.plan = pipeline, plan_of(pipeline)
        self.sink = TableSink(pipeline, self.folder, "r1")

    def run(self, batch: dict[int, RawRows], number: int) -> None:
        before = [[store.snapshot() for store in part] for part in (self.lanes, self.shards)]
        try:
            self.sink.take(self.frames(batch), number)
        except QueriesChanged as change:
            self.changes += 1
            lanes, shards = map(stores, before)
            after = after_all(self.pipeline, change.taken)
            added = added_queries(self.pipeline, after)
            begin_tables(RunPlace(after, "r1", self.folder), number - 1, added)
            found = convert(self.pipeline, after, lanes, shards)
            self.lanes, self.shards = list(found.lanes), list(found.shards)
            self.begin(after)
            self.run(batch, number)

    def frames(self, batch: dict[int, RawRows]) -> list[SinkFrame]:
        sent = [
            Lane(self.plan, number).step(
                self.lanes[number], [pack(rows, ValueRules.of(self.pipeline, number))]
            )
            for number, rows in batch.items()
        ]
        return [
            frame
            for number, store in enumerate(self.shards)
            for frame in tagged(Shard(self.plan).step(store, [one[number] for one in sent]))
        ]


@pytest.mark.parametrize("rows", [14, 60])
def test_tables_have_what_the_definition_says(tmp_path: Path, rows: int) -> None:
    driver = Driver(tmp_path)
    for number, batch in enumerate(batches(LOG, rows, BEFORE)):
        driver.run(batch, number)
    assert driver.changes in (2, 3, 4)  # the copies of a change may lie in two batches
    after = effective(BEFORE, LOG)
    assert driver.pipeline.fingerprint == after.fingerprint
    assert as_written(after).fingerprint == BEFORE.fingerprint
    output = read_tables(tmp_path, after, "r1")
    verdict = verify(after, LOG, output)
    assert verdict.ok, "\n".join(verdict.lines())
    ends = {json.loads(line)["window_end"] for _, line in output.rows if '"query":"new"' in line}
    assert ends == {60, 70, 80, 90, 100, 110, 120}


def test_nothing_is_written_of_a_batch_with_a_change(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    (batch,) = batches(LOG[:100], 100, BEFORE)
    frames = driver.frames(batch)
    with pytest.raises(QueriesChanged, match="the log changes the queries"):
        driver.sink.take(frames, 0)
    assert not [*tmp_path.rglob("*.parquet")]
    left = driver.sink.file_stage(0, inline_bytes=0).of(frames)
    assert {one.kind for one in left} == {CHANGE}
    assert METRIC in {one.kind for one in frames}
