"""Tokens in real tables: what a sink keeps of a run, what it refuses, what a lost table shows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from windowing.engine.lane import Lane
from windowing.engine.plan import plan_of
from windowing.engine.reading.pack import RawRows, pack
from windowing.engine.reading.rules import ValueRules
from windowing.engine.shard import Shard
from windowing.engine.storage.state import MemoryStore
from windowing.model import parse_pipeline
from windowing.model.run_errors import TokenMismatch
from windowing.runtime.output import tagged
from windowing.runtime.token import Kept, Stretch
from windowing.spark.sinks import MemorySink
from windowing.spark.sinks.table import TableSink
from windowing.spark.sinks.tokens import Frames

PIPELINE = parse_pipeline("""
name: p
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {v: int}, disorder: ordered}
shards: 1
queries:
  q: {window: RANGE 10 us SLIDE 10 us WATTR ts, aggregates: {n: count}}
  never: {window: RANGE 1 hour SLIDE 1 hour WATTR ts, aggregates: {n: count}}
""")
NAMES = {"q", "never", "dead_letters", "metrics"}


def batches(*cuts: int) -> Iterator[Frames]:
    """The log of offsets 0, 1, …, each ten microseconds later, cut at these offsets."""
    plan, stores = plan_of(PIPELINE), (MemoryStore(), MemoryStore())
    lane, shard = Lane(plan, 0), Shard(plan)
    for first, end in zip((0, *cuts), cuts, strict=False):
        offsets = list(range(first, end))
        nothing = [None] * len(offsets)
        values = [f'{{"ts":{10 * offset},"v":1}}'.encode() for offset in offsets]
        raw = RawRows(offsets=offsets, values=values, controls=nothing, append_us=nothing)
        parcels = lane.step(stores[0], [pack(raw, ValueRules.of(PIPELINE, 0))])
        emission = shard.step(stores[1], parcels)
        yield list(tagged(emission))


def count(folder: Path) -> int:
    return len(DeltaTable(str(folder / "q")).to_pyarrow_table())


def filled(folder: Path, *cuts: int) -> TableSink:
    sink = TableSink(PIPELINE, folder, "r1")
    for number, frames in enumerate(batches(*cuts)):
        sink.take(frames, number)
    return sink


def test_every_table_says_which_batch_it_has_also_without_rows(tmp_path: Path) -> None:
    assert TableSink.kept(PIPELINE, tmp_path, "r1").tables == dict.fromkeys(NAMES)
    filled(tmp_path, 3, 7, 9)
    found = TableSink.kept(PIPELINE, tmp_path, "r1")
    assert [*found.tokens] == [0, 1, 2]
    assert found.tokens[1].lanes == {"s/0": Stretch(3, 6)}
    assert found.tables == dict.fromkeys(NAMES, Kept(2, found.tokens[2].digest))
    assert TableSink.kept(PIPELINE, tmp_path, "r2").tables == dict.fromkeys(NAMES, Kept(None, None))
    for name in NAMES:
        said = DeltaTable(str(tmp_path / name)).history(1)[0]["slackwater"]
        assert '"batch": 2' in said
        assert '"lanes": {"s/0": [7, 8]}' in said


def test_the_same_batches_again_change_nothing(tmp_path: Path) -> None:
    filled(tmp_path, 3, 7, 9)
    rows = count(tmp_path)
    filled(tmp_path, 3, 7, 9)
    assert count(tmp_path) == rows


def test_batches_that_are_cut_otherwise_are_refused_and_not_passed_over(tmp_path: Path) -> None:
    """W2: a checkpoint of after batch 0 was put back, and the log went on in other cuts."""
    filled(tmp_path, 3, 7, 9)
    sink = TableSink(PIPELINE, tmp_path, "r1")
    for number, frames in enumerate(batches(3, 8)):
        if number:
            with pytest.raises(TokenMismatch, match=r"s/0: 3 to 6.* planned .*s/0: 3 to 7"):
                sink.take(frames, number)


def test_a_table_that_was_lost_is_named(tmp_path: Path) -> None:
    filled(tmp_path, 3, 7)
    shutil.rmtree(tmp_path / "never")
    sink = TableSink(PIPELINE, tmp_path, "r1")
    *_, third = batches(3, 7, 9)
    with pytest.raises(TokenMismatch, match=r"table .*never of run r1 has no batch"):
        sink.take(third, 2)


def test_of_two_drivers_the_same_batch_counts_once_and_another_is_refused(tmp_path: Path) -> None:
    one, two = (TableSink(PIPELINE, tmp_path, "r1") for _ in range(2))
    first, second = batches(3, 7)
    for sink in (one, two):
        sink.take(first, 0)
    one.take(second, 1)
    rows = count(tmp_path)
    two.take(second, 1)
    assert count(tmp_path) == rows
    zombie, heir = (TableSink(PIPELINE, tmp_path, "r1") for _ in range(2))
    *_, planned = batches(3, 7, 9)
    heir.take(planned, 2)
    *_, otherwise = batches(3, 7, 8)
    with pytest.raises(TokenMismatch, match=r"batch 2 .*7 to 8.*batch 2 .*7 to 7"):
        zombie.take(otherwise, 2)


def test_the_sink_in_memory_keeps_tokens_too() -> None:
    sink = MemorySink(PIPELINE)
    first, second = batches(3, 7)
    for _ in range(2):
        sink.take(first, 0)
    assert sink.tokens[0].lanes == {"s/0": Stretch(0, 2)}
    rows = len(sink.output.rows)
    sink.take(first, 0)
    assert len(sink.output.rows) == rows
    with pytest.raises(TokenMismatch):
        sink.take(second, 0)
