"""Another number of shards changes no row, and another pipeline's state is refused."""

from __future__ import annotations

import re

import pytest

from tests.strategies import entry
from tests.unit.engine.test_fused import PIPELINE
from windowing.engine.convert import ConvertedState, convert
from windowing.engine.reading.batches import batches
from windowing.engine.storage.state import MemoryStore
from windowing.model import Pipeline, parse_pipeline
from windowing.model.file import versions
from windowing.model.rows import row_lines
from windowing.model.run_errors import CheckpointMismatch
from windowing.runtime.local import LocalEngine, Snapshot
from windowing.semantics import evaluate


def with_shards(text: str, shards: int) -> Pipeline:
    return versions.with_shards(parse_pipeline(text), shards)


def stores(values: tuple[dict[str, bytes], ...]) -> list[MemoryStore]:
    found = []
    for one in values:
        store = MemoryStore()
        store.restore(one)
        found.append(store)
    return found


def resharded(before: Pipeline, after: Pipeline, snapshot: Snapshot) -> ConvertedState:
    return convert(before, after, stores(snapshot.lanes), stores(snapshot.shards))


def as_snapshot(found: ConvertedState) -> Snapshot:
    lanes = tuple(store.snapshot() for store in found.lanes)
    return Snapshot(lanes, tuple(store.snapshot() for store in found.shards))


EVENTS = [
    {
        "source": "s",
        "partition": n % 2,
        "offset": n // 2,
        "value": {"ts": n, "k": f"k{n % 7}", "v": n},
    }
    for n in range(60)
]
ENDS = [
    {"source": "s", "partition": lane, "offset": 30, "control": {"end": True}} for lane in range(2)
]


@pytest.mark.parametrize("fused", [False, True], ids=["lanes", "fused"])
def test_a_run_is_as_if_never_resharded(*, fused: bool) -> None:
    log = [*map(entry, [*EVENTS, *ENDS])]
    before, after = with_shards(PIPELINE, 3), with_shards(PIPELINE, 5)
    first, then = LocalEngine(before, fused=fused), LocalEngine(after, fused=fused)
    for batch in batches(log[:33], 4):
        first.feed(batch)
    found = resharded(before, after, first.snapshot())
    assert found.rows > 0
    assert resharded(after, before, as_snapshot(found)).digest == found.digest
    then.restore(as_snapshot(found))
    for batch in batches(log[33:], 4):
        then.feed(batch)
    rows = [*first.output.rows, *then.output.rows]
    assert sorted(row_lines(rows)) == sorted(row_lines(evaluate(after, log).rows))


def test_what_differs_in_more_than_shards_is_refused() -> None:
    before = with_shards(PIPELINE, 3)
    after = with_shards(PIPELINE.replace("total: sum(v)", "total: max(v)"), 2)
    with pytest.raises(CheckpointMismatch, match=re.escape("differ in more than shards (3 and 2)")):
        convert(before, after, [], [])


def test_the_state_of_another_pipeline_is_refused() -> None:
    other = with_shards(PIPELINE.replace("total: sum(v)", "total: max(v)"), 3)
    engine = LocalEngine(other)
    for batch in batches(map(entry, EVENTS), 4):
        engine.feed(batch)
    before, after = with_shards(PIPELINE, 3), with_shards(PIPELINE, 2)
    with pytest.raises(CheckpointMismatch, match="written by another version of pipeline p"):
        resharded(before, after, engine.snapshot())


def test_state_that_would_be_lost_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = with_shards(PIPELINE, 3), with_shards(PIPELINE, 2)
    engine = LocalEngine(before)
    for batch in batches(map(entry, EVENTS), 4):
        engine.feed(batch)
    # A hash that knows no second shard.
    monkeypatch.setattr("windowing.engine.convert.split", lambda frame, by, shards: [(7, frame)])
    with pytest.raises(CheckpointMismatch, match="nothing was changed; keep shards: 3"):
        resharded(before, after, engine.snapshot())
