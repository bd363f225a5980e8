"""Evaluating a log part by part gives what evaluating it whole does."""

from collections import defaultdict

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from chaos.simulator.draw.wish import JOIN, POLICY_JOIN
from tests.strategies import KINDS, OPERATORS, Case, cases, entry, join_cases, lane_of
from windowing.model import Pipeline, parse_pipeline
from windowing.model.query import Flow
from windowing.model.rows import dead_letter_line, row_line
from windowing.semantics import (
    Division,
    LogEntry,
    LogOrder,
    PartOutcome,
    Stream,
    attribute_of,
    evaluate,
    evaluate_part,
)
from windowing.semantics.parts import DEPTH_MAX
from windowing.semantics.units import ArrivalOrderError, Item


def in_parts(pipeline: Pipeline, query: Flow, log: list[LogEntry], depth: int) -> list[PartOutcome]:
    """Divide one query's records at a depth, and evaluate every part on its own."""
    stream = Stream(pipeline, attribute_of(query, pipeline.source))
    order, division = LogOrder(pipeline.source), Division(query)
    parts = defaultdict[tuple[int, ...], list[tuple[int, Item]]](list)
    for one in log:
        number = order.lane_of(one)
        for item in [] if number is None else stream.step(number, one)[1]:
            for path in division.paths(item, depth):
                parts[path].append((number or 0, item))
    outcomes = []
    for path, found in parts.items():
        found.sort(key=lambda pair: (pair[0], pair[1].offset))
        view = stream.view([item for _, item in found])
        outcomes.append(evaluate_part(pipeline, query, view, path))
    return outcomes


@given(data=st.data(), depth=st.integers(1, DEPTH_MAX))
@pytest.mark.parametrize("kind", [*KINDS, OPERATORS, JOIN, POLICY_JOIN])
def test_the_parts_together_are_the_whole(kind: str, data: st.DataObject, depth: int) -> None:
    joined = kind in (JOIN, POLICY_JOIN)
    case: Case = data.draw(join_cases(kind=kind) if joined else cases(kind=kind, wide=True))
    pipeline = parse_pipeline(case.pipeline)
    log = [entry(event) for event in case.events]
    try:
        whole = evaluate(pipeline, log)
    except ArrivalOrderError:
        reject()
    for query in pipeline.flows:
        parts = in_parts(pipeline, query, log, depth)
        rows = [row_line(row) for part in parts for row in part.rows]
        assert sorted(rows) == sorted(row_line(r) for r in whole.rows if r.query == query.name)
        dead = [dead_letter_line(letter) for part in parts for letter in part.outcomes[0]]
        assert sorted(dead) == sorted(
            dead_letter_line(letter) for letter in whole.dead if letter.query == query.name
        )
        counts = whole.counts[query.name]
        for name in ("applied", "outside", "dropped"):
            assert sum(part.outcomes[1][name] for part in parts) == counts[name]


def test_rows_in_the_order_of_event_time_are_numbered_over_all_keys() -> None:
    """The first eight rows of the stream are not the first eight of a key."""
    pipeline = parse_pipeline(
        """
name: p
source:
  topic: s
  partitions: 1
  format: json
  event_time: {field: ts, unit: s}
  fields: {g: string}
  disorder: ordered
queries:
  q:
    window: RANGE LANDMARK SLIDE 2 rows WATTR row_num ORDER event_time
    group_by: [g]
    aggregates: {n: count}
"""
    )
    log = lane_of({"value": {"ts": n, "g": key}} for n, key in enumerate("abab"))
    (query,) = pipeline.flows
    rows = [row_line(row) for part in in_parts(pipeline, query, log, 1) for row in part.rows]
    assert sorted(rows) == sorted(row_line(row) for row in evaluate(pipeline, log).rows)
    assert len(rows) == 2
