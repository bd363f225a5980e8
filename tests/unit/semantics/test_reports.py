"""Queries of operators: the local engine and the definition agree on rows, on traces, on records.

Pipelines, logs and orders of arrival are drawn by the simulator.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import OPERATORS, Case, Entry, cases, entry, interleavings
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, parse_pipeline
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.runtime.local import LocalEngine
from windowing.semantics import RowId, evaluate, meaning_of
from windowing.semantics.trace import trace
from windowing.semantics.view import Views

Identity = tuple[str, int, tuple[Any, ...]]


def drawn(case: Case) -> tuple[Pipeline, list[Entry]]:
    return parse_pipeline(case.pipeline), [entry(event) for event in case.events]


@given(case=cases(kind=OPERATORS), size=st.integers(1, 12), data=st.data())
def test_the_engine_gives_the_rows_of_the_definition(
    case: Case, size: int, data: st.DataObject
) -> None:
    pipeline, log = drawn(case)
    engine = LocalEngine(pipeline)
    arrived = [entry(event) for event in data.draw(interleavings(case.lanes))]
    for batch in batches(arrived, size):
        engine.feed(batch)
    defined = evaluate(pipeline, log)
    assert [*row_lines(engine.output.rows)] == [*row_lines(defined.rows)]
    assert [*dead_letter_lines(engine.output.dead_letters)] == [*dead_letter_lines(defined.dead)]


@given(case=cases(kind=OPERATORS, records_max=20), data=st.data())
def test_the_engine_sends_with_each_record_what_the_trace_says(
    case: Case, data: st.DataObject
) -> None:
    pipeline = parse_pipeline(case.pipeline)
    log = [entry(event) for event in data.draw(interleavings(case.lanes))]
    engine = LocalEngine(pipeline)
    for line, batch in zip(trace(pipeline, log), batches(log, 1), strict=True):
        known = len(engine.output.rows)
        engine.feed(batch)
        sent = Counter((row.query, row.window_id, row.key) for row in engine.output.rows[known:])
        assert sent == Counter(
            (query, row["window"], tuple(row["key"]))
            for query, rows in line.get("sent", {}).items()
            for row in rows
        )


@given(case=cases(kind=OPERATORS))
def test_a_trace_tells_of_each_record_which_reports_hold_it(case: Case) -> None:
    pipeline, log = drawn(case)
    outcome = evaluate(pipeline, log)
    holding: Counter[Identity] = Counter()
    outcomes: Counter[tuple[str, str]] = Counter()
    for line in trace(pipeline, log):
        for query, found in line.get("queries", {}).items():
            fate = found["outcome"]
            outcomes[query, "applied" if fate == "waiting" else fate] += 1
            assert (found["number"] is None) == (fate != "applied")
            reports = [(query, row["window"], tuple(row["key"])) for row in found["reports"]]
            holding.update(reports)
    assert holding == Counter(
        {(row.query, row.window_id, row.key): row.records for row in outcome.rows}
    )
    for query, counts in outcome.counts.items():
        assert outcomes[query, "applied"] == counts["applied"]
        assert outcomes[query, "dropped"] == counts["dropped"]


@given(case=cases(kind=OPERATORS, records_max=12))
def test_the_records_of_a_row_are_those_that_it_spans(case: Case) -> None:
    pipeline, log = drawn(case)
    views, queries = Views(pipeline, log), {query.name: query for query in pipeline.flows}
    for row in evaluate(pipeline, log).rows[:5]:
        query = queries[row.query]
        identity = RowId(row.query, row.window_id, row.key, row.revision)
        held = meaning_of(query).held_by(pipeline.source, views.of(query), identity)
        assert len(held) == row.records
        spans = {f"{topic}/{lane}": [o for _, p, o in held if p == lane] for topic, lane, _ in held}
        assert {lane: (min(own), max(own)) for lane, own in spans.items()} == row.offsets
