"""Lanes and shards against the definition: the same bytes, however the log is cut and resent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chaos.readers.log import read_events
from tests.sampling import sampled
from tests.strategies import (
    KINDS,
    Case,
    Entry,
    any_thresholds,
    cases,
    entry,
    interleavings,
    thresholds,
)
from windowing.engine.plan import plan_of
from windowing.engine.reading.batches import batches, checked, interleave
from windowing.engine.shard import Shard
from windowing.engine.storage.frames import from_bytes
from windowing.engine.storage.state import MemoryStore
from windowing.engine.tuning import tuned
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.model.rows import Row, dead_letter_lines, row_lines
from windowing.model.run_errors import ArrivalOrder
from windowing.runtime.local import LocalEngine, Output, run
from windowing.runtime.output import write_output
from windowing.semantics import evaluate

DATA = Path(__file__).parents[2] / "data" / "pipelines"
CASES = sorted(path.name for path in DATA.iterdir() if path.is_dir())
# Deltas until state is merged, and its rows from which on it is divided by when it is due.
EITHER_PLAN = pytest.mark.parametrize("fused", [False, True], ids=["lanes", "fused"])


def can_run(pipeline: Pipeline, *, fused: bool) -> bool:
    """Whether the plan applies."""
    return not fused or plan_of(pipeline).why_lanes is None


def drawn(data: st.DataObject, *, fused: bool, **wanted: Any) -> tuple[Case, Pipeline]:
    """A case that the plan applies to."""
    if fused:
        wanted["kind"] = data.draw(st.sampled_from(["sliding", "landmark"]))
    case = data.draw(cases(**wanted))
    pipeline = parse_pipeline(case.pipeline)
    assume(can_run(pipeline, fused=fused))
    return case, pipeline


RECORDED = [
    (name, fused)
    for name in CASES
    for fused in (False, True)
    if can_run(load_pipeline(DATA / name / "pipeline.yml"), fused=fused)
]
CUT = [(*case, rows) for case, rows in product(RECORDED, [1, 2, 7, 1_000_000])]
"""What is recorded, by either plan, and how many rows a batch has."""


def lines(output: Output) -> list[str]:
    return [*row_lines(output.rows), *dead_letter_lines(output.dead_letters)]


def agreed(pipeline: Pipeline, log: Sequence[Entry]) -> list[Row]:
    """The rows of the definition, which the engine has too: in a step or in one for each record."""
    rows = evaluate(pipeline, log).rows
    written = list(row_lines(rows))
    assert list(row_lines(run(pipeline, batches(log, 99, pipeline)).rows)) == written
    with tuned(compact_after_deltas=1):
        assert list(row_lines(run(pipeline, batches(log, 1, pipeline)).rows)) == written
    return rows


def defined(pipeline: Pipeline, case: Case) -> list[str]:
    outcome = evaluate(pipeline, map(entry, case.events))
    return [*row_lines(outcome.rows), *dead_letter_lines(outcome.dead)]


@pytest.mark.parametrize(("name", "fused", "batch_rows"), sampled(CUT, every=7))
def test_recorded_pipelines_give_their_bytes(
    name: str, batch_rows: int, tmp_path: Path, *, fused: bool
) -> None:
    pipeline = load_pipeline(DATA / name / "pipeline.yml")
    for seed in (None, 1, 2) if batch_rows > 2 else (batch_rows,):  # these take long
        log: Iterable[Entry] = checked(read_events(DATA / name / "events.jsonl"), pipeline)
        if seed is not None:
            log = interleave(log, seed)
        result = run(pipeline, batches(log, batch_rows, pipeline), fused=fused)
        write_output(tmp_path / "out.jsonl", result.rows, result.dead_letters)
        for file in ("out.jsonl", "out.dead.jsonl"):
            assert (tmp_path / file).read_bytes() == (DATA / name / file).read_bytes()


@EITHER_PLAN
@given(data=st.data())
def test_engine_equals_definition_under_any_cut_and_interleaving(
    data: st.DataObject, *, fused: bool
) -> None:
    case, pipeline = drawn(data, fused=fused, wide=True)
    log = [entry(event) for event in data.draw(interleavings(case.lanes))]
    rows = data.draw(st.sampled_from([1, 2, 3, 5, 8, 1000]))
    assert lines(run(pipeline, batches(log, rows), fused=fused)) == defined(pipeline, case)


@EITHER_PLAN
@given(data=st.data())
@any_thresholds
def test_what_lanes_and_shards_hold_depends_on_the_log_and_not_on_its_cut(
    data: st.DataObject, *, fused: bool
) -> None:
    case, pipeline = drawn(
        data, fused=fused, kind=data.draw(st.sampled_from(KINDS)), records_max=20
    )
    read = data.draw(st.integers(0, len(case.events)))
    engines = []
    for _ in range(2):
        log = [entry(event) for event in case.events[:read]]
        engine = LocalEngine(pipeline, fused=fused)
        try:
            with tuned(**data.draw(thresholds(of_run=False))):
                for batch in batches(log, data.draw(st.sampled_from([1, 2, 3, 5, 40]))):
                    engine.feed(batch)
        except ArrivalOrder:  # rows that are counted as they arrive, from two lanes
            assume(False)
        engines.append(engine)
    one, other = (held(engine, pipeline) for engine in engines)
    assert one == other


def held(engine: LocalEngine, pipeline: Pipeline) -> tuple[object, object]:
    snapshot, tables = engine.snapshot(), []
    for values in snapshot.shards:
        store = MemoryStore()
        store.restore(values)
        queries = Shard(plan_of(pipeline)).canonical_state(store)
        frames = {
            (query, name): frame.to_dicts()
            for query, parts in queries.items()
            for name, frame in parts.items()
            if len(frame)
        }
        tables.append(frames)
    # Frames are compared by their content: thresholds decide which are compressed.
    lanes = [
        {
            key: from_bytes(value).to_dicts() if key.startswith("keys/") else value
            for key, value in values.items()
        }
        for values in snapshot.lanes
    ]
    return lanes, tables
