"""What a pipeline computes: queries, or a join, which is a separate flow."""

from __future__ import annotations

import pytest

from windowing.engine.plan import plan_of
from windowing.engine.windows.classes import PARTS
from windowing.engine.windows.join import JoinLanePart, JoinShardPart
from windowing.model import Pipeline, Query, parse_pipeline
from windowing.model.fates import BY_WINDOWS, Counts, Fate
from windowing.model.fields import ValueType
from windowing.model.query import Flow, JoinQuery
from windowing.model.windows.registry import WINDOWS
from windowing.semantics.windows.classes import DEFINITIONS

SIDE = (
    "{{topic: {0}, partitions: 2, format: json, event_time: {{field: {0}_ts, unit: s}}, "
    "fields: {1}, disorder: ordered}}"
)
LEFT, RIGHT = SIDE.format("l", "{k: string, n: int}"), SIDE.format("r", "{k: string, x: 'float?'}")


def join(kind: str = "inner", more: str = "") -> Pipeline:
    return parse_pipeline(
        f"""
name: p
join:
  left: {{source: {LEFT}, window: 5 s}}
  right: {{source: {RIGHT}}}
  kind: {kind}
  equal: [k]
  where: [left.n > 3]
  select: {{much: right.x, name: left.k}}
{more}
"""
    )


def queries() -> Pipeline:
    return parse_pipeline(
        f"""
name: p
source: {LEFT}
queries:
  a: {{window: RANGE 5 s SLIDE 5 s WATTR l_ts, group_by: [k], aggregates: {{most: max(n)}}}}
  b: {{window: RANGE 5 s SLIDE 5 s WATTR l_ts, aggregates: {{records: count}}}}
"""
    )


def test_flows_are_the_queries_or_the_join() -> None:
    of_queries, of_join = queries(), join()
    assert of_queries.flows == of_queries.of(Query)
    assert of_join.flows == of_join.of(JoinQuery)
    assert (of_queries.of(JoinQuery), of_join.of(Query)) == ((), ())
    assert (of_queries.one_topic, of_join.one_topic) == (True, False)
    assert [window.attribute for window in of_queries.windows] == ["l_ts", "l_ts"]


def test_a_join_has_no_window_and_no_aggregates() -> None:
    (flow,) = join().flows
    assert (flow.window, flow.aggregates, flow.early) == (None, (), None)
    assert "join" not in {*WINDOWS, *PARTS, *DEFINITIONS}
    (planned,) = plan_of(join()).flows
    assert (planned.lane, planned.shard) == (JoinLanePart, JoinShardPart)
    assert (planned.replaces, planned.row_clock) == (False, None)


@pytest.mark.parametrize("pipeline", [queries(), join()], ids=["query", "join"])
def test_either_answers_what_is_asked_of_a_flow(pipeline: Pipeline) -> None:
    asked = [name for name in vars(Flow) if not name.startswith("_")]
    assert {"name", "attribute", "key", "shows", "marks", "late"} < {*asked}
    for flow in pipeline.flows:
        assert all(hasattr(flow, name) for name in asked)
        assert [*flow.value_types(pipeline.source.fields)] == [*flow.shows]


def test_what_a_join_says_of_its_rows() -> None:
    flow = join("left", "late: {policy: update, every: 1 s}\nretention: 7 s").flows[0]
    assert flow.name == "pairs"
    assert flow.attribute == "l_ts"
    assert flow.key == ("k", "left", "left_offset", "right", "right_offset")
    assert flow.value_types({}) == {"much": ValueType("float"), "name": ValueType("string")}
    assert [source.topic for source in flow.sources] == ["l", "r"]
    assert [flow.side_of(topic) for topic in ("l", "r")] == ["left", "right"]
    assert (flow.needed("left"), flow.needed("right")) == (("k", "n"), ("x",))
    # A side without a window is seen as far back as records are kept.
    assert (flow.reach("left"), flow.reach("right")) == (5_000_000, 7_000_000)


@pytest.mark.parametrize("kind", ["inner", "left", "right", "full"])
def test_only_what_was_alone_is_taken_back(kind: str) -> None:
    (flow,) = join(kind).flows
    outer = kind != "inner"
    assert flow.accumulation == ("retracting" if outer else "accumulating")
    assert flow.marks == (("op",) if outer else ())


def test_queries_are_queries() -> None:
    assert {type(flow) for flow in queries().flows} == {Query}
    assert {type(flow) for flow in join().flows} == {JoinQuery}


FATES = (*BY_WINDOWS[:2], Fate("skipped", "of no interest"), *BY_WINDOWS[2:])


def test_what_was_read_before_a_query_is_outside_of_it() -> None:
    longest = Counts.of(FATES, read=100, applied=70, outside=10, skipped=15, dead=5)
    own = Counts.of(FATES, read=40, applied=20, outside=8, skipped=7, dead=5)
    found = own.since_added(longest)
    # A fate that is the same for all queries is theirs from the beginning.
    assert (found.read, found["skipped"]) == (100, 15)
    assert found["outside"] == 100 - 20 - 15 - 5
    assert found.total == found.read


def test_a_query_of_the_beginning_is_as_it_was() -> None:
    counts = Counts.of(read=7, applied=4, outside=1, dropped=1, dead=1)
    assert counts.since_added(counts) == counts
