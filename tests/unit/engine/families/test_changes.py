"""Queries that join or leave beside queries that share slices."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import any_thresholds, entry, interleavings
from tests.unit.engine.families.drawn import changing_families
from tests.unit.engine.families.test_by_hand import stores
from tests.unit.engine.families.test_families import EITHER_PLAN, held, lines, shared
from windowing.engine.convert import convert
from windowing.engine.plan import plan_of
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, parse_pipeline
from windowing.model.fates import Counts
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.model.run_errors import CheckpointMismatch
from windowing.runtime.local import LocalEngine, Snapshot
from windowing.semantics.definition import evaluate
from windowing.semantics.log import LogEntry
from windowing.semantics.view import effective

pytestmark = pytest.mark.usefixtures("two_share")

HEAD = """
name: p
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {k: int}, disorder: {slack: 5 us}, control: all}
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


ENDS = "until: 1970-01-01T00:00:01Z, "
LATER = "from: 1970-01-01T00:00:00.000040Z, "
PARTLY = LATER + "warmup: emit, "
ODDLY = "from: 1970-01-01T00:00:00.000041Z, warmup: emit, "


@pytest.mark.parametrize(
    ("range_", "said", "shares"),
    [
        (10, ENDS, True),
        (10, LATER, True),
        (50, LATER, True),  # longer than any: its windows begin and end where others do
        (10, PARTLY, True),
        (10, ODDLY, False),  # its first window begins within a slice
        (15, LATER, False),  # its windows begin within slices
        (15, ENDS, True),  # it was there from the beginning, and has slices cut
    ],
)
def test_who_shares_among_those_that_join_or_leave(range_: int, said: str, *, shares: bool) -> None:
    pipeline = parse_pipeline(HEAD + ALIKE + QUERY.format("a", range_, said))
    [family] = plan_of(pipeline).families
    assert sorted(family.names) == ["a"] * shares + ["q1", "q2", "q3"]
    assert family.name == ("shared:a" if said == ENDS else "shared:q1")


def test_other_aggregates_do_not_join() -> None:
    more = QUERY.format("a", 10, LATER).replace("n: count", "n: count, most: max(k)")
    [family] = plan_of(parse_pipeline(HEAD + ALIKE + more)).families
    assert "a" not in family.names


def test_those_that_join_found_no_family() -> None:
    later = "".join(QUERY.format(f"q{number}", 10 * number, LATER) for number in (1, 2, 3))
    assert not plan_of(parse_pipeline(HEAD + later)).families
    one = QUERY.format("a", 10, "")
    assert not plan_of(parse_pipeline(HEAD + one + later)).families


@pytest.mark.parametrize("rows", [7, 60])
def test_a_query_joins_queries_that_share(rows: int) -> None:
    events = log(30, {"add": {"new": JOINS}})
    engine = LocalEngine(PIPELINE)
    for batch in batches(events, rows, PIPELINE):
        engine.feed(batch)
    after = effective(PIPELINE, events)
    assert engine.pipeline.fingerprint == after.fingerprint
    assert sorted(engine.plan.families[0].names) == ["new", "q1", "q2", "q3"]
    assert [*row_lines(engine.output.rows)] == [*row_lines(evaluate(after, events).rows)]
    assert {row.window_start_us for row in engine.output.rows if row.query == "new"} >= {40, 50}


@pytest.mark.parametrize("rows", [7, 60])
def test_a_query_that_shares_leaves(rows: int) -> None:
    events = log(30, {"remove": {"q2": 80}})
    engine = LocalEngine(PIPELINE)
    for batch in batches(events, rows, PIPELINE):
        engine.feed(batch)
    assert [family.name for family in engine.plan.families] == ["shared:q1"]
    after = effective(PIPELINE, events)
    assert [*row_lines(engine.output.rows)] == [*row_lines(evaluate(after, events).rows)]
    ends = {row.query: row.window_end_us for row in engine.output.rows}
    assert ends == {"q1": 90, "q2": 80, "q3": 90}


SOON = "until: 1970-01-01T00:00:00.000050Z, "
THEN = "until: 1970-01-01T00:00:00.000070Z, "


def ending(said: str) -> str:
    """The queries, of which the second one ends."""
    return ALIKE.replace(QUERY.format("q2", 20, ""), QUERY.format("q2", 20, said))


def goes_on(after: Pipeline) -> list[str]:
    """The rows of a run that is stopped after 40 records, and continues with another file."""
    [first, *rest] = batches(log(100, {})[:-1], 40, PIPELINE)
    before, engine = LocalEngine(PIPELINE), LocalEngine(after)
    before.feed(first)
    state = before.snapshot()
    lanes, shards = stores(state.lanes), stores(state.shards)
    found = convert(PIPELINE, after, lanes, shards)
    parts = ((store.snapshot() for store in part) for part in (found.lanes, found.shards))
    engine.restore(Snapshot(*map(tuple, parts)))
    engine.output = before.output
    for batch in rest:
        engine.feed(batch)
    return [*row_lines(engine.output.rows)]


@pytest.mark.parametrize(
    ("text", "sharing"),
    [(ending(THEN), 3), (ALIKE + QUERY.format("a", 50, LATER), 4)],
    ids=["ends", "joins"],
)
def test_a_stopped_run_takes_changes_from_its_file(text: str, sharing: int) -> None:
    after = parse_pipeline(HEAD + text)
    assert len(plan_of(after).families[0].names) == sharing
    assert goes_on(after) == [*row_lines(evaluate(after, log(100, {})[:-1]).rows)]


def test_an_end_within_what_was_read_is_refused() -> None:
    with pytest.raises(
        CheckpointMismatch, match=r"q2 is to leave .* or later; nothing was changed"
    ):
        goes_on(parse_pipeline(HEAD + ending(SOON)))


@EITHER_PLAN
@settings(max_examples=settings().max_examples // 2)
@given(data=st.data())
@any_thresholds
def test_changed_families_equal_the_definition_however_the_log_is_cut_and_resumed(
    data: st.DataObject, *, fused: bool
) -> None:
    case = data.draw(changing_families(fused=fused))
    pipeline, log = shared(case.pipeline), [entry(event) for event in case.events]
    after, outcome = effective(pipeline, log), evaluate(pipeline, log)
    events = [entry(event) for event in data.draw(interleavings(case.lanes))]
    kept = data.draw(st.integers(0, len(events)))
    first = started(data, pipeline, fused=fused)
    for batch in batches(events[:kept], data.draw(st.integers(1, 6)), pipeline):
        first.feed(batch)
    # Restarted, it knows the changes so far from the run's own copy of the file.
    second = started(data, first.pipeline, fused=fused)
    second.restore(first.snapshot())
    second.output = first.output
    for batch in batches(events[kept:], data.draw(st.integers(1, 6)), pipeline):
        second.feed(batch)
    assert second.pipeline.fingerprint == after.fingerprint
    found = second.output
    due = [*row_lines(outcome.rows), *dead_letter_lines(outcome.dead)]
    assert sorted(lines(found)) == sorted(due)
    for name, counts in outcome.counts.items():
        assert found.counts.get(name, Counts.of()) == counts
    # What is held is a function of the log: one that knew all changes before holds the same.
    knows = started(data, after, fused=fused)
    for batch in batches(log, data.draw(st.integers(1, 9)), pipeline):
        knows.feed(batch)
    assert held(second) == held(knows)


def started(data: st.DataObject, pipeline: Pipeline, *, fused: bool) -> LocalEngine:
    chunk_rows = data.draw(st.integers(1, 4)) if fused else None
    return LocalEngine(pipeline, fused=fused, chunk_rows=chunk_rows)
