"""Queries that join or leave beside queries that share slices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.strategies import entry
from windowing.engine.input.batches import batches
from windowing.engine.plan import plan_of
from windowing.model import parse_pipeline
from windowing.model.rows import row_lines
from windowing.model.run_errors import CheckpointMismatch
from windowing.runtime.local import LocalEngine
from windowing.semantics.definition import evaluate
from windowing.semantics.effective import effective
from windowing.semantics.log import LogEntry

HEAD = """
name: p
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {k: int}, disorder: {slack: 5 us}}
shards: 2
queries:
"""
QUERY = (
    "  {}: {{window: RANGE {} us SLIDE 10 us WATTR ts, group_by: [k], {}"
    "aggregates: {{n: count}}}}\n"
)
ALIKE = "".join(QUERY.format(f"q{number}", 10 * number, "") for number in (1, 2, 3))
PIPELINE = parse_pipeline(HEAD + ALIKE)
JOINS = {
    "window": "RANGE 20 us SLIDE 10 us WATTR ts",
    "group_by": ["k"],
    "aggregates": {"n": "count"},
    "from": 40,
}


def log(at: int, change: dict[str, Any]) -> list[LogEntry]:
    """A lane with a record of each instant, and a change of the queries among them."""
    contents: list[dict[str, Any]] = [{"value": {"ts": ts, "k": ts % 3}} for ts in range(100)]
    contents.insert(at, {"control": {"queries": change}})
    place = {"source": "s", "partition": 0}
    return [entry({**place, "offset": number, **one}) for number, one in enumerate(contents)]


def test_a_query_that_joins_or_leaves_shares_nothing() -> None:
    late = QUERY.format("late", 10, "from: 1970-01-01T00:00:01Z, ")
    [family] = plan_of(parse_pipeline(HEAD + ALIKE + late), 2).families
    assert sorted(family.names) == ["q1", "q2", "q3"]


@pytest.mark.parametrize("rows", [7, 60])
def test_a_query_joins_queries_that_share(rows: int) -> None:
    events = log(30, {"add": {"new": JOINS}})
    engine = LocalEngine(PIPELINE, share_from=2)
    for batch in batches(events, rows, PIPELINE):
        engine.feed(batch)
    after = effective(PIPELINE, events)
    assert engine.pipeline.fingerprint == after.fingerprint
    assert len(engine.plan.families[0].names) == 3
    assert [*row_lines(engine.output.rows)] == [*row_lines(evaluate(after, events).rows)]
    assert "new" in {row.query for row in engine.output.rows}


def test_a_query_that_shares_cannot_leave() -> None:
    engine = LocalEngine(PIPELINE, share_from=2)
    [batch] = batches(log(30, {"remove": {"q2": 80}}), 200, PIPELINE)
    with pytest.raises(CheckpointMismatch, match="q2 cannot leave a run in which it shares slices"):
        engine.feed(batch)
