"""Families against the definition: the same bytes as queries that share nothing."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.strategies import any_thresholds, entry, interleavings, thresholds
from tests.unit.engine.families.drawn import families
from windowing.engine.plan import plan_of
from windowing.engine.reading.batches import batches
from windowing.engine.shard import Shard
from windowing.engine.storage.state import MemoryStore
from windowing.engine.tuning import tuned
from windowing.model import Pipeline, parse_pipeline
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.runtime.local import LocalEngine, Output
from windowing.semantics import evaluate

pytestmark = pytest.mark.usefixtures("two_share")

EITHER_PLAN = pytest.mark.parametrize("fused", [False, True], ids=["lanes", "fused"])


def shared(text: str) -> Pipeline:
    """A pipeline in which some queries share slices."""
    pipeline = parse_pipeline(text)
    assume(plan_of(pipeline).families)
    return pipeline


def lines(output: Output) -> list[str]:
    return [*row_lines(output.rows), *dead_letter_lines(output.dead_letters)]


@EITHER_PLAN
@given(data=st.data())
@any_thresholds
def test_families_equal_the_definition_however_the_log_is_cut_and_resumed(
    data: st.DataObject, *, fused: bool
) -> None:
    case = data.draw(families(fused=fused))
    pipeline = shared(case.pipeline)
    log = [entry(event) for event in data.draw(interleavings(case.lanes))]
    chunk_rows = data.draw(st.integers(1, 4)) if fused else None
    engine = LocalEngine(pipeline, fused=fused, chunk_rows=chunk_rows)
    kept = data.draw(st.integers(0, len(log)))
    for batch in batches(log[:kept], data.draw(st.integers(1, 6))):
        engine.feed(batch)
    checkpoint = engine.snapshot()
    for batch in batches(log[kept:], data.draw(st.integers(1, 6))):
        engine.feed(batch)
    outcome = evaluate(pipeline, map(entry, case.events))
    defined = [*row_lines(outcome.rows), *dead_letter_lines(outcome.dead)]
    assert lines(engine.output) == defined
    for name, counts in outcome.counts.items():
        found = engine.output.counts.get(name)
        assert found is None or found == counts
    engine.restore(checkpoint)
    for batch in batches(log[kept:], data.draw(st.integers(1, 6))):
        engine.feed(batch)
    assert sorted(set(lines(engine.output))) == sorted(defined)


@EITHER_PLAN
@given(data=st.data())
@any_thresholds
def test_what_a_family_holds_depends_on_the_log_and_not_on_its_cut(
    data: st.DataObject, *, fused: bool
) -> None:
    case = data.draw(families(fused=fused))
    pipeline = shared(case.pipeline)
    read = data.draw(st.integers(0, len(case.events)))
    found = []
    for _ in range(2):
        engine = LocalEngine(pipeline, fused=fused)
        log = [entry(event) for event in case.events[:read]]
        with tuned(**data.draw(thresholds(of_run=False))):
            for batch in batches(log, data.draw(st.sampled_from([1, 2, 3, 5, 40]))):
                engine.feed(batch)
        found.append(held(engine))
    assert found[0] == found[1]


def held(engine: LocalEngine) -> list[object]:
    shard, tables = Shard(engine.plan), list[object]()
    for values in engine.snapshot().shards:
        store = MemoryStore()
        store.restore(values)
        for query, parts in sorted(shard.canonical_state(store).items()):
            tables += [
                (query, name, frame.to_dicts()) for name, frame in parts.items() if len(frame)
            ]
    return tables
