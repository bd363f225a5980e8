"""Evaluating a log part by part gives what evaluating it whole does."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from chaos.simulator.draw.wish import JOIN, POLICY_JOIN
from tests.strategies import KINDS, OPERATORS, Case, cases, entry, join_cases
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
from windowing.semantics.units import Item


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


ANY = st.one_of(
    st.sampled_from((*KINDS, OPERATORS)).flatmap(lambda kind: cases(kind=kind, wide=True)),
    st.sampled_from((JOIN, POLICY_JOIN)).flatmap(lambda kind: join_cases(kind=kind)),
)


@given(case=ANY, depth=st.integers(1, DEPTH_MAX))
def test_the_parts_together_are_the_whole(case: Case, depth: int) -> None:
    pipeline = parse_pipeline(case.pipeline)
    log = [entry(event) for event in case.events]
    whole = evaluate(pipeline, log)
    for query in pipeline.flows:
        parts = in_parts(pipeline, query, log, depth)
        rows = [row_line(row) for part in parts for row in part.rows]
        assert sorted(rows) == sorted(row_line(r) for r in whole.rows if r.query == query.name)
        dead = [dead_letter_line(letter) for part in parts for letter in part.fates[0]]
        assert sorted(dead) == sorted(
            dead_letter_line(letter) for letter in whole.dead if letter.query == query.name
        )
        counts = whole.counts[query.name]
        for name in ("applied", "outside", "dropped"):
            assert sum(part.fates[1][name] for part in parts) == getattr(counts, name)
