"""Another number of shards changes no row, and another pipeline's state is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.sampling import sampled
from tests.strategies import KINDS, OPERATORS, Case, cases, entry, interleavings, join_cases
from tests.unit.engine.fused.test_fused import PIPELINE, FusedRun
from windowing.engine.convert import ConvertedState, convert
from windowing.engine.reading.batches import batches
from windowing.engine.storage.state import MemoryStore
from windowing.model import Pipeline, parse_pipeline
from windowing.model.file import versions
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.model.run_errors import ArrivalOrder, CheckpointMismatch
from windowing.runtime.local import LocalEngine, Output, Snapshot
from windowing.runtime.output import rows_of
from windowing.semantics import evaluate

# Each runs a whole log twice.
_EXAMPLES = max(settings.default.max_examples // 3, 3) if settings.default else 3
_BATCH_ROWS = st.sampled_from([1, 2, 3, 40])


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


def lines(*outputs: Output) -> list[str]:
    rows = [row for output in outputs for row in output.rows]
    dead = [letter for output in outputs for letter in output.dead_letters]
    return [*row_lines(rows), *dead_letter_lines(dead)]


def check(data: st.DataObject, case: Case) -> None:
    """Reshard twice on the way through a log, and compare with the definition."""
    log = [entry(event) for event in data.draw(interleavings(case.lanes))]
    cuts = sorted(data.draw(st.integers(0, len(log))) for _ in range(2))
    before, outputs, snapshot = with_shards(case.pipeline, 1), list[Output](), None
    for begin, end in zip([0, *cuts], [*cuts, len(log)], strict=True):
        after = with_shards(case.pipeline, data.draw(st.sampled_from([1, 2, 3, 8])))
        engine = LocalEngine(after)
        if snapshot is not None:
            found = resharded(before, after, snapshot)
            assert resharded(after, before, as_snapshot(found)).digest == found.digest
            engine.restore(as_snapshot(found))
        try:
            for batch in batches(log[begin:end], data.draw(_BATCH_ROWS), after):
                engine.feed(batch)
        except ArrivalOrder:  # rows that are counted as they arrive, from two lanes
            assume(False)
        outputs.append(engine.output)
        before, snapshot = after, engine.snapshot()
    outcome = evaluate(before, map(entry, case.events))
    defined = [*row_lines(outcome.rows), *dead_letter_lines(outcome.dead)]
    assert sorted(lines(*outputs)) == sorted(defined)


@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_rows_are_as_if_never_resharded(data: st.DataObject) -> None:
    check(data, data.draw(cases(wide=True)))


@pytest.mark.parametrize("kind", sampled(KINDS, every=3))
@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_windows_of_each_kind_are_as_if_never_resharded(kind: str, data: st.DataObject) -> None:
    check(data, data.draw(cases(kind=kind)))


@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_joins_are_as_if_never_resharded(data: st.DataObject) -> None:
    check(data, data.draw(join_cases()))


@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_operators_are_as_if_never_resharded(data: st.DataObject) -> None:
    check(data, data.draw(cases(kind=OPERATORS)))


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


def test_a_fused_run_is_as_if_never_resharded() -> None:
    before, after = with_shards(PIPELINE, 3), with_shards(PIPELINE, 5)
    first, then = FusedRun(before), FusedRun(after)
    log = [*map(entry, [*EVENTS, *ENDS])]
    sent = [one for batch in batches(log[:33], 4) for one in first.feed(batch, [], 0)]
    found = convert(before, after, [], first.stores)
    assert found.rows > 0
    then.stores = list(found.shards)
    sent += [one for batch in batches(log[33:], 4) for one in then.feed(batch, [], 0)]
    rows = [
        row
        for emission in sent
        for frame in emission.results.values()
        for row in rows_of(after.flows[0], after, frame)
    ]
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
