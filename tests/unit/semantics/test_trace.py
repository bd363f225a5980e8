"""A trace by the definition, and the engine fed one record at a time, agree."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chaos.readers.log import read_events
from chaos.simulator.draw.wish import WINDOW_JOIN
from tests.strategies import KINDS, Entry, cases, entry, interleavings, join_cases
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.runtime.local import LocalEngine
from windowing.semantics import evaluate
from windowing.semantics.trace import TraceError, trace
from windowing.semantics.units import ArrivalOrderError

DATA = Path(__file__).parents[2] / "data" / "pipelines"
# Eight classes share the time that one would have.
_EXAMPLES = max(settings.default.max_examples // 8, 3) if settings.default else 3


def test_a_join_is_refused() -> None:
    pipeline = load_pipeline(DATA / "join" / "pipeline.yml")
    with pytest.raises(TraceError, match="this join has no windows"):
        next(trace(pipeline, []))


def traced(pipeline: Pipeline, log: list[Entry]) -> list[dict[str, Any]]:
    try:
        return list(trace(pipeline, log))
    except ArrivalOrderError:
        assume(False)
        raise


@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_a_window_join_sends_with_each_record_what_the_trace_says(data: st.DataObject) -> None:
    case = data.draw(join_cases(kind=WINDOW_JOIN, records_max=14))
    pipeline = parse_pipeline(case.pipeline)
    log = [entry(event) for event in data.draw(interleavings(case.lanes))]
    engine, fates = LocalEngine(pipeline), Counter[str]()
    for line, batch in zip(traced(pipeline, log), batches(log, 1, pipeline), strict=True):
        known = len(engine.output.rows)
        engine.feed(batch)
        rows = engine.output.rows[known:]
        assert Counter(
            (row.window_id, row.key, row.revision, row.retracts) for row in rows
        ) == Counter(
            (row["window"], tuple(row["key"]), row["revision"], "op" in row)
            for row in line.get("sent", {}).get("pairs", [])
        )
        fates.update(one["outcome"] for one in line.get("queries", {}).values())
    counts = engine.output.counts["pairs"]
    assert (fates["applied"], fates["outside"]) == (counts["applied"], counts["outside"])


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_the_engine_emits_with_each_record_what_the_trace_says(
    kind: str, data: st.DataObject
) -> None:
    case = data.draw(cases(kind=kind, records_max=14))
    pipeline = parse_pipeline(case.pipeline)
    log = [entry(event) for event in data.draw(interleavings(case.lanes))]
    engine = LocalEngine(pipeline)
    for line, batch in zip(traced(pipeline, log), batches(log, 1), strict=True):
        known = len(engine.output.rows), len(engine.output.dead_letters)
        engine.feed(batch)
        rows = [row for row in engine.output.rows[known[0] :] if not row.retracts]
        closed = {(row.query, row.window_id) for row in rows if row.revision == 0}
        assert closed == {(q, wid) for q, ids in line.get("closed", {}).items() for wid in ids}
        revised = Counter(
            (row.query, row.window_id, row.key, row.revision) for row in rows if row.revision
        )
        assert revised == Counter(
            (query, row["window"], tuple(row["key"]), row["revision"])
            for query, found in line.get("revised", {}).items()
            for row in found
        )
        dead = engine.output.dead_letters[known[1] :]
        said = {None: line["reason"]} if line["kind"] == "dead" else {}
        said |= {
            query: found["outcome"]
            for query, found in line.get("queries", {}).items()
            if found["outcome"].startswith(("late", "out_of_retention", "refused_by:"))
        }
        assert {letter.query: letter.reason for letter in dead} == said


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_slices_hold_the_records_of_the_rows(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases(kind=kind, records_max=14))
    pipeline = parse_pipeline(case.pipeline)
    log = [entry(event) for event in case.events]
    held: Counter[tuple[str, int]] = Counter()
    outcomes: Counter[tuple[str, str]] = Counter()
    for line in traced(pipeline, log):
        for query, found in line.get("queries", {}).items():
            outcomes[query, found["outcome"]] += 1
            assert set(found["late"]) <= set(found["windows"])
            for first, last, release in found["slices"]:
                if release is None:
                    # Of a slice the ends are given; where records define windows, ids have holes.
                    held.update((query, w) for w in found["windows"] if first <= w <= last)
    outcome = evaluate(pipeline, log)
    shown: Counter[tuple[str, int]] = Counter()
    for row in outcome.rows:
        if row.revision == 0:
            shown[row.query, row.window_id] += row.records
    # Windows of one number that belong to other keys, or end later, may not be shown yet.
    ended = all(progress == math.inf for progress in outcome.progress.values())
    # Nor are those whose rows do not fulfil `having`.
    judged = {flow.name for flow in pipeline.flows if flow.having is not None}
    for window, records in shown.items():
        less = not ended or window[0] in judged
        assert held[window] == records or (less and held[window] > records)
    for query, counts in outcome.counts.items():
        assert outcomes[query, "applied"] == counts["applied"]
        assert outcomes[query, "outside"] == counts["outside"]
        assert outcomes[query, "dropped"] == counts["dropped"]


@pytest.mark.parametrize("name", ["late-update-generous", "heartbeats", "poison"])
def test_progress_of_recorded_cases_never_falls(name: str) -> None:
    pipeline = load_pipeline(DATA / name / "pipeline.yml")
    lanes: dict[str, float] = {}
    for line in trace(pipeline, read_events(DATA / name / "events.jsonl")):
        before, after = (
            {None: -float("inf"), "ended": float("inf")}.get(line[side], line[side])
            for side in ("progress", "after")
        )
        assert lanes.get(line["lane"], before) == before <= after
        lanes[line["lane"]] = after


def test_records_of_several_topics_are_read_as_theirs() -> None:
    pipeline = parse_pipeline(
        "name: p\n"
        "source: {topics: {z: 1, a: 1}, format: json, event_time: {field: ts, unit: us},\n"
        "  fields: {}, disorder: ordered, where: $topic = 'a' AND $partition = 0}\n"
        "queries: {w: {window: RANGE 9 us SLIDE 9 us WATTR ts, aggregates: {n: count}}}\n"
    )
    log = [
        entry({"source": topic, "partition": 0, "offset": 0, "value": {"ts": 1}}) for topic in "za"
    ]
    outcomes = [(line["lane"], line.get("outcome")) for line in trace(pipeline, log)]
    assert outcomes == [("z/0", "filtered"), ("a/0", None)]
