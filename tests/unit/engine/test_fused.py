"""The fused plan gives what lanes and shards give, with every chunk cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path

import polars as pl
import pytest

from chaos.readers.log import read_events
from tests.sampling import sampled
from windowing.engine.fused.scanner import PROVISIONALS, Scanner
from windowing.engine.fused.settler import Settler
from windowing.engine.plan import plan_of
from windowing.engine.reading.batches import batches
from windowing.engine.reading.pack import RawRows, pack
from windowing.engine.reading.rules import ValueRules
from windowing.engine.shard import Emission, Shard
from windowing.engine.storage.frames import from_bytes
from windowing.engine.storage.state import MemoryStore
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.model.run_errors import RedeliveredOffset, TangledChunks
from windowing.runtime.local import LocalEngine

DATA = Path("tests/data/pipelines")
NAMES = sorted(path.name for path in DATA.iterdir() if path.is_dir())
PIPELINE = """
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {ts: int, k: string, v: int}
  disorder: {slack: 2 microseconds}
late: {policy: dead_letter}
shards: 3
queries:
  q:
    window: RANGE 10 microseconds SLIDE 5 microseconds WATTR ts
    group_by: [k]
    aggregates: {n: count, total: sum(v)}
sink: {table: t}
"""


class FusedRun:
    """Packers and shards without lanes, with every chunk cut into several."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.plan = plan_of(pipeline)
        assert self.plan.why_lanes is None
        self._rules = [ValueRules.of(pipeline, number) for number in range(self.plan.lanes)]
        self.scanner, self.settler = Scanner(self.plan), Settler(self.plan)
        self.shard = Shard(self.plan)
        self.stores = [MemoryStore() for _ in range(self.plan.shards)]

    def feed(self, batch: Mapping[int, RawRows], cuts: Sequence[int], order: int) -> list[Emission]:
        """Process a batch whose chunks are cut at these positions, and come in this order."""
        sent = []
        for number, rows in batch.items():
            edges = sorted({0, len(rows.offsets), *(c for c in cuts if c < len(rows.offsets))})
            for start, stop in pairwise(edges):
                chunk = pack(rows.part(start, stop), self._rules[number])
                messages = self.scanner.scan(number, chunk)
                sent.append([PROVISIONALS.decode(PROVISIONALS.encode(m)) for m in messages])
        sent = sent[order % len(sent) :] + sent[: order % len(sent)] if sent else sent
        return [
            self.shard.step(store, self.settler.settle(store, [m[n] for m in sent]))
            for n, store in enumerate(self.stores)
        ]


def shown(emissions: Sequence[Emission]) -> list[object]:
    """What is emitted, as sorted rows."""
    results = [
        (query, str(row))
        for emission in emissions
        for query, frame in emission.results.items()
        for row in frame.rows(named=True)
    ]
    diagnostics = [
        (kind, str(row))
        for emission in emissions
        for kind, frames in (("dead", emission.dead_letters), ("metrics", emission.metrics))
        for data in frames
        for row in from_bytes(data).rows(named=True)
    ]
    return sorted([*results, *diagnostics])


def held(shard: Shard, stores: Sequence[MemoryStore]) -> list[dict[str, dict[str, pl.DataFrame]]]:
    return [shard.canonical_state(store) for store in stores]


def same_state(one: LocalEngine, other: FusedRun) -> bool:
    ours = held(other.shard, other.stores)
    theirs = held(one.shard, [store for _, store in one._shards])
    return all(
        a.keys() == b.keys()
        and all(
            a[query].keys() == b[query].keys()
            and all(a[query][name].to_dicts() == b[query][name].to_dicts() for name in a[query])
            for query in a
        )
        for a, b in zip(ours, theirs, strict=True)
    )


@pytest.mark.parametrize(("name", "batch_rows"), sampled(product(NAMES, [2, 7, 1_000_000]), 7))
def test_recorded_pipelines(name: str, batch_rows: int) -> None:
    pipeline = load_pipeline(DATA / name / "pipeline.yml")
    if (why := plan_of(pipeline).why_lanes) is not None:
        assert why
        return
    lanes, fused = LocalEngine(pipeline), FusedRun(pipeline)
    for batch in batches(read_events(DATA / name / "events.jsonl"), batch_rows, pipeline):
        assert shown(fused.feed(batch, [1, 5], 1)) == shown(lanes.feed(batch))
    assert same_state(lanes, fused)


def rows(*offsets: int) -> RawRows:
    values = [f'{{"ts": {offset}, "k": "a", "v": 1}}'.encode() for offset in offsets]
    return RawRows([*offsets], values, [None] * len(offsets), [None] * len(offsets))


def test_a_chunk_that_comes_again_is_refused() -> None:
    fused = FusedRun(parse_pipeline(PIPELINE))
    fused.feed({0: rows(0, 1, 2)}, [], 0)
    with pytest.raises(RedeliveredOffset, match=r"lane s/0 got offset 1 again \(its last was 2\)"):
        fused.feed({0: rows(1, 2)}, [], 0)


def test_chunks_that_overlap_are_refused() -> None:
    fused = FusedRun(parse_pipeline(PIPELINE))
    fused.feed({0: rows(0, 1, 5)}, [], 0)
    with pytest.raises(TangledChunks, match="lane s/0 got offsets 3 to 9 after 5"):
        fused.feed({0: rows(3, 9)}, [], 0)


def test_an_offset_twice_in_a_chunk_is_refused() -> None:
    fused = FusedRun(parse_pipeline(PIPELINE))
    with pytest.raises(RedeliveredOffset, match="lane s/0 got offset 4 twice in one chunk"):
        fused.feed({0: rows(3, 4, 4)}, [], 0)


def test_a_redelivered_chunk_may_be_counted_and_passed_over() -> None:
    fused = FusedRun(parse_pipeline(PIPELINE))
    fused.settler = Settler(fused.plan, "skip")
    fused.feed({0: rows(0, 1, 2)}, [], 0)
    emissions = fused.feed({0: rows(1, 2)}, [], 0)
    (metrics,) = [data for emission in emissions for data in emission.metrics]
    (row,) = from_bytes(metrics).rows(named=True)
    assert (row["read"], row["redelivered"], row["progress_us"]) == (0, 2, 0)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("slack: 2 microseconds", "slack: 2 rows", "bounds depend on earlier records"),
        (
            "RANGE 10 microseconds SLIDE 5 microseconds WATTR ts",
            "SESSION 5 microseconds WATTR ts",
            "session windows need each record's place",
        ),
        ("format: json", "format: json\n  dense: true", "source s is dense"),
    ],
)
def test_the_plan_says_why_lanes_have_a_stage(old: str, new: str, why: str) -> None:
    assert why in str(plan_of(parse_pipeline(PIPELINE.replace(old, new))).why_lanes)
