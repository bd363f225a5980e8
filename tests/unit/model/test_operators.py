"""Queries with operators: what a file may say, and how each mistake is reported."""

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from windowing.model import Pipeline, PipelineError, Query, parse_pipeline
from windowing.model.emission import Late
from windowing.model.operators.language import parse_clause, spelled
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import Condition, Punctuate
from windowing.model.types import FieldType
from windowing.model.windows.policy import (
    Count,
    Delta,
    PartitionAge,
    PartitionCount,
    PartitionEviction,
    Policy,
    Punct,
    Selection,
    Time,
    TupleCount,
    WindowClause,
)

SOURCE = """\
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {carrier: string, origin: "string?", delay: float, n: int, m: "int?", "delay desc": int}
  disorder: {slack: 1 hour}
queries:
"""
COUNTED = "{operator: aggregate, window: TUMBLING count(2), aggregates: {n: count}%s}"


def pipeline_of(*queries: str, more: str = "") -> Pipeline:
    """A pipeline with queries q0, q1, …, each as YAML on one line."""
    lines = (f"  q{number}: {text}\n" for number, text in enumerate(queries))
    return parse_pipeline(SOURCE + "".join(lines) + more)


def query_of(text: str, more: str = "") -> OperatorQuery:
    (query,) = pipeline_of(text, more=more).flows
    return query


def test_queries_of_both_kinds_keep_the_order_of_the_file() -> None:
    window = "{window: RANGE 1 hour SLIDE 1 hour WATTR ts, group_by: [n], aggregates: {n: count}}"
    sort = "{operator: sort, window: TUMBLING count(2) PARTITIONED BY origin, by: [n]}"
    pipeline = pipeline_of(sort, window, COUNTED % "")
    assert [flow.name for flow in pipeline.flows] == ["q0", "q1", "q2"]
    assert [query.name for query in pipeline.of(Query)] == ["q1"]
    assert [query.name for query in pipeline.of(OperatorQuery)] == ["q0", "q2"]
    assert pipeline.key_fields(0) == {"n", "origin"}


def test_a_query_with_all_options_says_what_it_means() -> None:
    query = query_of(
        "{operator: aggregate, group_by: [origin], aggregates: {worst: max(delay)}, order: lane, "
        "window: 'SLIDING count(20), delta(ts, 5 min) PARTITIONED BY carrier EVICT "
        "partition_count(50) BY lfu', partial_windows: true, clock: wall, late: {policy: drop}}"
    )
    partitions = PartitionCount(50, Selection.lfu)
    clause = WindowClause("sliding", Count(20), Delta("ts", 300_000_000), ("carrier",), partitions)
    assert query.last.window == clause
    assert query.key == ("lane", "carrier", "origin")
    assert query.key_fields == ("carrier", "origin")
    assert query.unit == (), "partition eviction looks at all partitions"
    assert query.shows == ("worst",)
    assert (query.order, query.clock, query.late) == ("lane", "wall", Late(policy="drop"))


def test_units_are_the_fields_that_partition_all_windows() -> None:
    dedup = "{operator: dedup, by: [n], window: 'SLIDING count(9) PARTITIONED BY %s'}"
    both, one = (
        query_of(f"{{steps: [{dedup % first}, {dedup % 'carrier'}]}}")
        for first in ("origin, carrier", "origin")
    )
    assert both.unit == ("carrier",)
    assert one.unit == ()


def test_punctuations_come_before_their_operator() -> None:
    query = query_of(
        "{operator: aggregate, window: TUMBLING punct(), punctuate: {when: carrier = 'AA'}, "
        "aggregates: {n: count}}"
    )
    assert query.steps[0] == Punctuate(Condition("carrier", "=", "AA"))


def test_a_sort_reads_directions_after_fields_and_fields_before_directions() -> None:
    by = "[ts, n DESC, 'delay desc']"
    query = query_of(f"{{operator: sort, window: TUMBLING count(2), by: {by}}}")
    assert query.steps[0].by == (  # type: ignore[union-attr]
        ("ts", "ascending"),
        ("n", "descending"),
        ("delay desc", "ascending"),
    )


def _wrong(text: str) -> list[str]:
    with pytest.raises(PipelineError) as raised:
        query_of(text)
    return [str(problem) for problem in raised.value.problems]


WRONG = {
    "an unknown operator": (
        "{operator: median, window: TUMBLING count(2)}",
        "q0.operator: 'median",
    ),
    "an unknown option": (COUNTED % ", mode: x", "q0.mode: unknown key 'mode'"),
    "an option of another operator": (COUNTED % ", by: [n]", "q0.by: by does not go with"),
    "no window": (
        "{operator: sort, by: [n]}",
        "q0.window: window is missing and must be given; an example: window: SLIDING count(20)",
    ),
    "no policy": ("{operator: sort, window: TUMBLING, by: [n]}", "E_SYNTAX: 'TUMBLING' is not"),
    "two tumbling policies": (
        "{operator: sort, window: 'TUMBLING count(2), count(1)', by: [n]}",
        "a tumbling window has one policy",
    ),
    "a negative count": (
        "{operator: sort, window: TUMBLING count(-2), by: [n]}",
        "q0.window: E_VALUE: count(-2): give a whole number",
    ),
    "a huge count": (
        f"{{operator: sort, window: TUMBLING count({2**53 + 1}), by: [n]}}",
        "give a whole number from 0 to 9007199254740992 (2^53)",
    ),
    "a window that is no text": ("{operator: sort, window: 5, by: [n]}", "q0.window: 5 is not a w"),
    "a setting of many": (
        "{operator: 'python:m:C', window: TUMBLING count(2), outputs: {x: int}, "
        "settings: {a: [1]}}",
        "q0.settings.a: [1] is not a setting: give a number",
    ),
    "no step's operator": ("{steps: [{window: x}]}", "example: operator: sort (or aggregate, ded"),
    "no time": ("{operator: sort, window: TUMBLING time(0 s), by: [n]}", "must be positive"),
    "time without unit": ("{operator: sort, window: TUMBLING time(5), by: [n]}", "needs a unit"),
    "delta over text": (
        "{operator: sort, window: 'TUMBLING delta(carrier, 1)', by: [n]}",
        "E_ATTR_TYPE: delta(carrier, 1): carrier is string, not a number that is never null",
    ),
    "delta over null": (
        "{operator: sort, window: 'TUMBLING delta(m, 1)', by: [n]}",
        "E_ATTR_TYPE: delta(m, 1): m is int?",
    ),
    "a number of the event time": (
        "{operator: sort, window: 'TUMBLING delta(ts, 1)', by: [n]}",
        "'1' is not a length of time",
    ),
    "a huge threshold": (
        f"{{operator: sort, window: 'TUMBLING delta(n, {'9' * 500})', by: [n]}}",
        "the threshold is a number from 0 to",
    ),
    "sliding by punctuations": (
        "{operator: sort, window: 'SLIDING punct()', by: [n]}",
        "q0.window: a sliding window has no punctuation policy",
    ),
    "an unknown partition": (
        "{operator: sort, window: TUMBLING count(2) PARTITIONED BY x, by: [n]}",
        "E_ATTR_UNKNOWN: 'x' is not under source.fields",
    ),
    "a misspelled partition": (
        "{operator: sort, window: TUMBLING count(2) PARTITIONED BY N, by: [n]}",
        "did you mean 'n'?",
    ),
    "eviction without partitions": (
        "{operator: sort, window: TUMBLING count(2) EVICT tuple_count(5), by: [n]}",
        "partition eviction needs partitions",
    ),
    "a user's selection": (
        "{operator: sort, by: [n], window: 'TUMBLING count(2) PARTITIONED BY n EVICT "
        "tuple_count(5) BY user'}",
        "user selects no partitions: use lru, lfu, oldest",
    ),
    "partial tumbling windows": (
        COUNTED % ", partial_windows: true",
        "q0.window: a tumbling window is never partial",
    ),
    "evicted partitions of none": (
        COUNTED % ", evicted_partitions: false",
        "evicted_partitions means nothing without partition_by",
    ),
    "a sliding sort by another trigger": (
        "{operator: sort, window: 'SLIDING count(2), count(2)', by: [n]}",
        "Sort takes a tumbling window, or a sliding one with the trigger count(1)",
    ),
    "a tumbling dedup": (
        "{operator: dedup, window: TUMBLING count(2), by: [n]}",
        "Dedup takes a sliding window with the trigger count(1)",
    ),
    "nothing to sort by": ("{operator: sort, window: TUMBLING count(2)}", "sort needs by"),
    "a field twice": ("{operator: dedup, window: SLIDING count(2), by: [n, n]}", "stands twice"),
    "a group twice": (COUNTED % ", group_by: [n, n]", "q0.group_by.1: 'n' stands twice"),
    "no aggregates": ("{operator: aggregate, window: TUMBLING count(2)}", "aggregates is empty"),
    "an aggregate of text": (
        "{operator: aggregate, window: TUMBLING count(2), aggregates: {x: mean(carrier)}}",
        "q0.aggregates.x: carrier is a string; mean needs a number",
    ),
    "a name without text": (
        "{operator: aggregate, window: TUMBLING count(2), aggregates: {'': count}}",
        "a name is empty",
    ),
    "no outputs": ("{operator: 'python:m:C', window: TUMBLING count(2)}", "outputs is empty"),
    "a setting that is no number": (
        "{operator: 'python:m:C', window: TUMBLING count(2), outputs: {x: int}, "
        "settings: {a: .nan}}",
        "q0.settings.a: nan is not a number that a setting can have",
    ),
    "no punctuations": (
        "{operator: aggregate, window: TUMBLING punct(), aggregates: {n: count}}",
        "q0.window: input port 0 of aggregate expects window punctuations, and has none: "
        "output port 0 of the source sends none: add punctuate",
    ),
    "punctuations lost on the way": (
        "{steps: [{operator: sort, window: SLIDING count(2), by: [n], punctuate: {when: n = 1}}, "
        "{operator: aggregate, window: TUMBLING punct(), aggregates: {n: count}}]}",
        "q0.steps.1.window: input port 0 of aggregate expects window punctuations",
    ),
    "a condition on text": (
        COUNTED % ", punctuate: {when: carrier = 1}",
        "q0.punctuate: carrier is string: compare it with a text in quotes",
    ),
    "no condition": (COUNTED % ", punctuate: {when: carrier}", "is not a condition"),
    "two points": (COUNTED % ", punctuate: {when: delay = 1.2.3}", "is not a condition"),
    "an aggregate before another": (
        f"{{steps: [{COUNTED % ''}, {COUNTED % ''}]}}",
        "q0.steps.0.operator: aggregate sends no records, and so must be the last",
    ),
    "no steps": ("{steps: []}", "steps is empty"),
    "many steps": (
        f"{{steps: [{', '.join(['{operator: dedup, window: SLIDING count(2), by: [n]}'] * 17)}]}}",
        "17 steps: a query has at most 16",
    ),
    "late updates": (
        COUNTED % ", late: {policy: update, every: 1 h}",
        "q0.late: q0 has operators, which take no late records",
    ),
    "early rows": (COUNTED % ", early: {every: 1 s}", "q0.early: q0 has operators, which send no"),
    "a retention": (COUNTED % ", retention: 1 h", "q0.retention: q0 has operators, whose windows"),
    "retractions": (
        COUNTED % ", accumulation: retracting",
        "q0.accumulation: q0 has operators, which send a row once",
    ),
    "an order of something else": (COUNTED % ", order: time", "q0.order: 'time' is not allowed"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_has_line_field_and_rule(name: str) -> None:
    text, message = WRONG[name]
    problem = _wrong(text)[0]
    assert message in problem
    assert re.match(r"<pipeline>:10: queries\.q0", problem)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("late: {policy: update, every: 1 hour}\nretention: 1 hour\n", ":11: late: q0 has"),
        ("early: {records: 5}\n", ":11: early: q0 has operators"),
        ("retention: {entries: 5}\n", ":11: retention: q0 has operators"),
        ("accumulation: discarding\n", ":11: accumulation: q0 has operators"),
    ],
)
def test_options_of_the_whole_pipeline_are_refused_where_they_stand(
    more: str, message: str
) -> None:
    with pytest.raises(PipelineError, match=message):
        query_of(COUNTED % "", more)


def test_a_late_policy_of_its_own_overrides_that_of_the_pipeline() -> None:
    more = "late: {policy: update, every: 1 hour}\nretention: 1 hour\n"
    assert query_of(COUNTED % ", late: {policy: drop}", more).late == Late(policy="drop")


def test_a_field_may_not_be_called_as_the_lane_of_a_key() -> None:
    text = SOURCE.replace("carrier: string", "lane: string") + (
        "  q0: {operator: sort, window: TUMBLING count(2) PARTITIONED BY lane, by: [n]%s}"
    )
    assert parse_pipeline(text % "").flows[0].key == ("lane",)
    with pytest.raises(PipelineError, match="lane is the first field of a row's key"):
        parse_pipeline(text % ", order: lane")


def test_the_lane_of_a_key_is_text_whatever_a_field_of_that_name_is() -> None:
    sort = "{operator: sort, window: TUMBLING count(2) PARTITIONED BY n, by: [lane], order: lane}"
    text = SOURCE.replace("carrier: string", "lane: int")
    pipeline = parse_pipeline(f"{text}  q0: {sort}\n")
    (query,) = pipeline.flows
    assert query.key_types(pipeline.source.fields) == {
        "lane": FieldType("string"),
        "n": FieldType("int"),
    }
    assert query.value_types(pipeline.source.fields)["lane"].kind == "int"


def test_progress_per_key_is_refused() -> None:
    text = SOURCE.replace("{slack: 1 hour}", "{punctuation: {attr: carrier}}")
    with pytest.raises(PipelineError, match="E_KEYED_PROGRESS: q0 has operators"):
        parse_pipeline(text + f"  q0: {COUNTED % ''}")


def test_names_are_checked_against_the_sink() -> None:
    sort = "{operator: sort, window: TUMBLING count(2) PARTITIONED BY n, by: [n]}"
    assert query_of(sort).shows[0] == "carrier"
    with pytest.raises(PipelineError, match="PostgreSQL table has a column 'n' already"):
        query_of(sort, "sink: {postgres: p}\n")


_FIELD = st.sampled_from(["n", "delay"])
_POLICIES: st.SearchStrategy[Policy] = st.one_of(
    st.builds(Count, st.integers(0, 2**53)),
    st.builds(Delta, st.just("ts"), st.integers(0, 2**59)),
    st.builds(Delta, _FIELD, st.integers(0, 2**59)),
    st.builds(Time, st.integers(1, 2**59)),
    st.just(Punct()),
)
_SELECTIONS = st.sampled_from([Selection.lru, Selection.lfu, Selection.oldest])
_EVICTIONS: st.SearchStrategy[PartitionEviction] = st.one_of(
    st.builds(PartitionCount, st.integers(0, 2**53), _SELECTIONS),
    st.builds(TupleCount, st.integers(0, 2**53), _SELECTIONS),
    st.builds(PartitionAge, st.integers(1, 2**59)),
)


@st.composite
def _clauses(draw: st.DrawFn) -> WindowClause:
    sliding = draw(st.booleans())
    by = draw(st.lists(st.sampled_from(["carrier", "origin", "n"]), unique=True))
    return WindowClause(
        "sliding" if sliding else "tumbling",
        draw(_POLICIES),
        draw(_POLICIES) if sliding else None,
        tuple(by),
        draw(st.none() | _EVICTIONS),
    )


@given(_clauses())
def test_a_window_is_read_from_its_own_spelling(clause: WindowClause) -> None:
    assert parse_clause(spelled(clause, "ts"), "ts") == clause


@given(_clauses())
def test_a_mapping_says_the_same_as_the_text(clause: WindowClause) -> None:
    text = spelled(clause, "ts")
    policies = text.split(" PARTITIONED")[0].split(" EVICT")[0].split(" ", 1)[1]
    evict, _, selection = text.partition(" EVICT ")[2].partition(" BY ")
    mapping: dict[str, object] = {
        clause.kind: re.split(r", (?=\w+\()", policies),
        "partition_by": list(clause.partition_by),
    }
    mapping |= {"partition_eviction": evict} if evict else {}
    mapping |= {"selection": selection} if selection else {}
    if not clause.partition_by:
        del mapping["partition_by"]
    assert parse_clause(yaml.safe_load(yaml.safe_dump(mapping)), "ts") == clause
