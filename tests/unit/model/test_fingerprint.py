"""A fingerprint is of facts: of what decides a result, of all of it, and of nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, make_dataclass
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, create_model

from chaos.simulator.draw.wish import JOIN, KINDS, OPERATORS
from tests.sampling import sampled
from tests.strategies import Case, cases, entry, join_cases
from tests.unit.checkpoints.fingerprints import recorded
from windowing.engine.storage.state import check_fingerprint
from windowing.model import Pipeline, parse_pipeline
from windowing.model.added_lanes import AddedLane
from windowing.model.control import ControlRule
from windowing.model.duplicates import Duplicates
from windowing.model.emission import Early, Late
from windowing.model.errors import PipelineError
from windowing.model.event_time import EventTime
from windowing.model.fields import Aggregate
from windowing.model.fingerprint import FORMAT, fingerprint
from windowing.model.join import Comparison, Join, JoinSide, Operand
from windowing.model.lengths import AttributeStep
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import (
    AggregateStep,
    Condition,
    DedupStep,
    Punctuate,
    SortStep,
    UserStep,
)
from windowing.model.pair_values import PairExpression
from windowing.model.query import JoinQuery, Query
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.model.run_errors import CheckpointMismatch
from windowing.model.source import Source
from windowing.model.types import FieldType
from windowing.model.windows.activity import Activity
from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.parsing import CLASSES
from windowing.model.windows.policy import (
    Count,
    Delta,
    PartitionAge,
    PartitionCount,
    Time,
    TupleCount,
    WindowClause,
)
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
from windowing.semantics import evaluate

PIPELINE = """
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {g: "string?", k: int, v: int}
  disorder: {slack: 1 hour}
late: {policy: update, every: 1 hour}
retention: 2 hours
queries:
  a: {window: RANGE 1 hour SLIDE 1 hour WATTR ts, group_by: [g], aggregates: {n: count}}
  b: {window: SESSION 30 min WATTR ts, group_by: [g], aggregates: {n: count, q: "quantile(v, 50%)"}}
"""


_TIMES = ("min: '1970-01-01'", "max: '2100-01-01'", "max_ahead: 1 s")
_GENERATORS = (
    *(
        "ordered",
        "punctuation",
        "{slack: 2 hours}",
        "{slack: 3600 rows}",
        "{punctuation: {attr: g}}",
    ),
    *("{ordered_per: g}", "{ordered_per: {attr: g, members: {s/0: [a], s/1: [b]}}}"),
    *("{adaptive: {late: 1%, over: 9 rows}}", "{adaptive: {late: 1%, over: 8 rows}}"),
    "{heartbeat: {s/0: {max_delay: 5 s}, s/1: {max_delay: 5 s}}}",
    "{heartbeat: {s/0: {max_delay: 5 s, skew: 1 s}, s/1: {max_delay: 5 s}}}",
)
_WINDOWS = (
    *("RANGE 2 hours SLIDE 1 hour WATTR ts", "RANGE 1 hour SLIDE 2 hours WATTR ts"),
    *("RANGE 1 hour SLIDE 1 hour WATTR ts ORIGIN 1 min", "RANGE LANDMARK SLIDE 1 hour WATTR ts"),
    *(
        "RANGE CUMULATE 2 hours SLIDE 1 hour WATTR ts",
        "RANGE CUMULATE 3 hours SLIDE 1 hour WATTR ts",
    ),
    *("RANGE 1 hour SLIDE 1 hour WATTR ts PATTR k", "SESSION 1 hour WATTR ts"),
    *("RANGE 1 hour SLIDE 1 hour WATTR ts ALIGN start", "SESSION 1 hour WATTR ts PATTR k"),
    *("RANGE 1 hour SLIDE 1 rows RATTR ts SATTR row_num",),
    *("RANGE 1 hour SLIDE 2 rows RATTR ts SATTR row_num",),
)


def changed(*changes: tuple[str, str]) -> Pipeline:
    text = PIPELINE
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return parse_pipeline(text)


@pytest.mark.parametrize(
    "changes",
    [
        [("slack: 1 hour", "slack: 60 minutes")],
        [("every: 1 hour}", "every: 3600 s, mode: generous}")],
        [("retention: 2 hours", "retention: {time: 120 min}")],
        [("RANGE 1 hour SLIDE 1 hour WATTR ts,", "{range: 60 min, slide: 1 h, wattr: ts},")],
        [("RANGE 1 hour SLIDE 1 hour WATTR ts,", "range 1 hour slide 1 hour wattr ts origin 0 s,")],
        [('g: "string?", k: int, v: int', 'v: int, k: int, "g": "string?"')],
        [("unit: us}", "unit: us}\n  unknown_fields: dead_letter\n  dense: false")],
        [("50%", "0.5")],
        [("name: p\n", "name: other\nschedule: '@daily'\nsink: {table: t}\nshards: 8\n")],
        [
            (
                "group_by: [g], aggregates: {n: count}}",
                "group_by: [g], aggregates: {n: count}, "
                "late: {policy: update, every: 1 hour}, retention: 2 hours}",
            )
        ],
    ],
)
def test_another_spelling_is_the_same_pipeline(changes: list[tuple[str, str]]) -> None:
    assert changed(*changes).fingerprint == changed().fingerprint


def test_the_order_of_queries_has_no_meaning() -> None:
    *head, first, second = PIPELINE.rstrip().split("\n")
    other = parse_pipeline("\n".join([*head, second, first]))
    assert other.fingerprint == changed().fingerprint


OTHER_MEANINGS: list[list[tuple[str, str]]] = [
    [("unit: us", "unit: ms")],
    [("k: int", 'k: "int?"')],
    [("every: 1 hour}", "every: 1 hour, mode: consistent}")],
    [("{n: count, q", "{q2: count, q")],
    [('{n: count, q: "quantile(v, 50%)"}', '{q: "quantile(v, 50%)", n: count}')],
    [("50%", "51%")],
    [("  a: {", "  c: {")],
    [("group_by: [g], aggregates: {n: count}", "group_by: [g, k], aggregates: {n: count}")],
    [("  disorder", "  dense: true\n  disorder")],
    [("late:", "accumulation: discarding\nlate:")],
    [("  a: {", "  a: {empty: {after: 2}, ")],
    [("  a: {", "  a: {having: n > 2, ")],
    [("late:", "shards: 7\nlate:")],
    [("topic: s", "topic: t")],
    [("partitions: 2", "partitions: 3")],
    [("field: ts", "field: at"), ("WATTR ts", "WATTR at")],
    *([("unit: us", f"unit: us, {one}")] for one in _TIMES),
    [("every: 1 hour", "every: 2 hours")],
    [("retention: 2 hours", "retention: 3 hours")],
    [("retention: 2 hours", "retention: {time: 2 hours, entries: 9}")],
    [("late:", "early: {records: 3}\nlate:")],
    [("late:", "early: {every: 3 s}\nlate:")],
    *([("  disorder: {slack: 1 hour}", f"  disorder: {one}")] for one in _GENERATORS),
    [("  disorder", "  disorder_of: {v: {slack: 5}}\n  disorder")],
    [("  disorder", "  idle_timeout: 5 s\n  disorder")],
    [("  disorder", "  unknown_fields: ignore\n  disorder")],
    *(
        [("  disorder", f"  duplicates: {one}\n  disorder")]
        for one in (
            "{by: [g], within: 1 hour}",
            "{by: [k], within: 1 hour}",
            "{by: [g], within: 2 hours}",
        )
    ),
    [("partitions: 2", "partitions: 2\n  joined: {s/1: {lane: 1, at: {ts: 1}}}")],
    *([("RANGE 1 hour SLIDE 1 hour WATTR ts", one)] for one in _WINDOWS),
    [("30 min WATTR ts", "31 min WATTR ts")],
    [("SESSION 30 min WATTR ts", "{session: 30 min, wattr: ts, gaps: {a: 1 min}}")],
]
"""Edits of `PIPELINE` that change what it means: all that a fingerprint distinguishes."""


@pytest.mark.parametrize("changes", OTHER_MEANINGS)
def test_another_meaning_is_another_pipeline(changes: list[tuple[str, str]]) -> None:
    assert changed(*changes).fingerprint != changed().fingerprint


def test_no_two_of_these_are_the_same() -> None:
    windows = [changed(("RANGE 1 hour SLIDE 1 hour WATTR ts", one)) for one in _WINDOWS]
    generators = [changed(("{slack: 1 hour}", one)) for one in _GENERATORS]
    found = [one.fingerprint for one in (*windows, *generators)]
    assert len({*found}) == len(found)


def test_rows_by_their_order_in_the_log_or_by_time() -> None:
    rows = "RANGE 5 rows SLIDE 5 rows WATTR row_num ORDER"
    dead = ("{policy: update, every: 1 hour}", "{policy: dead_letter}")
    log, time = (
        changed(dead, ("RANGE 1 hour SLIDE 1 hour WATTR ts", f"{rows} {by}"))
        for by in ("log", "event_time")
    )
    assert log.fingerprint != time.fingerprint


def test_it_bears_the_number_of_its_form() -> None:
    assert re.fullmatch(rf"{FORMAT}:[0-9a-f]{{16}}", changed().fingerprint)


def test_recorded_fingerprints_are_what_they_were() -> None:
    lines = recorded()
    assert len(lines) > 100
    for line in lines:
        pipeline = parse_pipeline(line["text"])
        assert pipeline.fingerprint == line["fingerprint"], line["name"]
    assert len({line["fingerprint"] for line in lines}) == len(lines)


def test_states_are_accepted_with_lanes_that_joined_or_without() -> None:
    text = PIPELINE.replace(
        "partitions: 2", "partitions: 3\n  joined: {s/2: {lane: 2, at: {ts: 9}}}"
    )
    grown, before, other = parse_pipeline(text), changed(), changed(("k: int", "k: float"))
    for pipeline in (before, grown):
        whole = pipeline.fingerprint
        check_fingerprint("a shard", whole, grown)
        with pytest.raises(CheckpointMismatch, match=f"fingerprint {whole}, now {FORMAT}:"):
            check_fingerprint("a shard", whole, other)
        assert before.wrote(whole) == (pipeline is before)


def wider(value: Any) -> Any:
    """The same objects, each of a class of another name that has one more field, with a default."""
    if isinstance(value, BaseModel):
        parts = {name: wider(part) for name, part in value.__dict__.items()}
        class_ = create_model(
            f"Other{type(value).__name__}", __base__=type(value), aaa_more=(int | None, None)
        )
        return class_.model_construct(**parts)
    if is_dataclass(value) and not isinstance(value, type):
        class_ = make_dataclass(
            f"Other{type(value).__name__}",
            [("zzz_more", int, 7)],
            bases=(type(value),),
            frozen=True,
        )
        return class_(**{f.name: wider(getattr(value, f.name)) for f in fields(value)})
    if type(value) in (list, tuple):
        return type(value)(map(wider, value))
    return {name: wider(part) for name, part in value.items()} if type(value) is dict else value


def test_neither_names_of_classes_nor_new_fields_with_defaults_show() -> None:
    for line in recorded()[::6]:
        pipeline = parse_pipeline(line["text"])
        source, flows = wider(pipeline.source), wider(pipeline.flows)
        assert repr(source) != repr(pipeline.source)
        assert fingerprint(source, pipeline.shards, flows) == line["fingerprint"], line["name"]


_NUMBER = re.compile(r"\d+")
_WORDS = (
    ("drop", "dead_letter", "update"),
    ("generous", "consistent"),
    ("accumulating", "discarding", "retracting"),
    ("us", "ms", "s", "iso"),
    ("int", "int?", "float", "float?", "string", "string?"),
    ("inner", "left", "right", "full"),
    ("ignore", "dead_letter"),
    ("ordered", "punctuation"),
    ("ORDER log", "ORDER event_time"),
    ("ALIGN start", "ALIGN end"),
    ("row_num", "rank(ts)"),
    ("PATTR g", "PATTR h"),
    (" < ", " <= ", " != "),
    ("(v)", "(w)"),
    ("canonical", "lane"),
    ("lru", "lfu", "oldest"),
    ("partition_count", "tuple_count"),
    (" desc", " asc"),
)
"""Words of the file of which one may stand where another does."""


def others(value: Any) -> Iterator[Any]:
    """What may stand in a place of a document instead of what stands there."""
    match value:
        case bool():
            yield not value
        case int():
            yield value + 1
        case str():
            for number in _NUMBER.finditer(value):
                more = str(int(number[0]) + 1)
                yield value[: number.start()] + more + value[number.end() :]
            for words in _WORDS:
                for word in words:
                    if word == value or (word in value and not word.isalpha()):
                        yield from (value.replace(word, w) for w in words if w != word)
        case list() if len(value) > 1:
            yield [*reversed(value)]
            yield value[1:]
        case dict():
            yield dict(reversed(value.items()))
            yield from ({n: v for n, v in value.items() if n != name} for name in value)


def changes(value: Any) -> Iterator[Any]:
    """A document with each single thing of it changed."""
    yield from others(value)
    if isinstance(value, dict):
        for name, part in value.items():
            yield from ({**value, name: other} for other in changes(part))
    if isinstance(value, list):
        for place, part in enumerate(value):
            yield from ([*value[:place], other, *value[place + 1 :]] for other in changes(part))


def shown(pipeline: Pipeline, case: Case) -> Any:
    """What the definition gives; of what has no rows, what is wrong."""
    try:
        outcome = evaluate(pipeline, map(entry, case.events))
    except Exception as error:
        return str(error)
    return [*row_lines(outcome.rows), *dead_letter_lines(outcome.dead)]


@pytest.mark.parametrize("kind", sampled([*KINDS, JOIN, OPERATORS], every=5))
@settings(
    max_examples=max(settings.default.max_examples // 40, 2) if settings.default else 2,
    # A chain of operators takes many choices, however small each is.
    suppress_health_check=[HealthCheck.large_base_example],
)
@given(data=st.data())
def test_pipelines_of_other_rows_never_share_one(kind: str, data: st.DataObject) -> None:
    """Whatever single thing of a file is changed."""
    case = data.draw(join_cases() if kind == JOIN else cases(kind=kind, wide=True))
    one = parse_pipeline(case.pipeline)
    rows = shown(one, case)
    for document in changes(yaml.safe_load(case.pipeline)):
        try:
            other = parse_pipeline(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
        except PipelineError:
            continue
        if one.fingerprint == other.fingerprint:
            assert shown(other, case) == rows


NO_FACTS = {
    # It says what is allowed, not what is computed.
    (Source, "compacted"),
    # It follows from the attribute, which is a fact.
    (AttributeStep, "timed"),
    # It follows from the source's event time.
    (OperatorQuery, "attribute"),
    # They follow from the section of the file, whose parts are facts.
    *((JoinQuery, name) for name in ("sources", "left", "right", "kind", "on", "where", "select")),
    # There is one join in a pipeline, and it joins by event time within windows.
    *((JoinQuery, name) for name in ("name", "axis", "session_gap")),
    # They are the lanes that are not among those of `joined`.
    (Activity, "lacking"),
    # It follows from the text.
    (PairExpression, "expression"),
    # Policy windows say that it is an operator, and stand in the facts of the sides.
    (Join, "operator"),
}
FACTS: dict[type, set[str]] = {
    EventTime: {"field", "expr", "unit", "fraction", "min_us", "max_us", "max_ahead_us"},
    Source: {
        *("topic", "partitions", "format", "event_time", "declared", "disorder", "disorder_of"),
        *("idle_timeout_us", "unknown_fields", "dense", "joined", "control", "steps", "topics"),
        "duplicates",
    },
    Duplicates: {"by", "within_us"},
    JoinSide: {"source", "window"},
    Join: {"left", "right", "kind", "within", "window", "outer", "equal", "where", "select"},
    PairExpression: {"text"},
    Operand: {"side", "field"},
    Comparison: {"first", "operator", "second"},
    AddedLane: {"topic", "partition", "number", "at"},
    FieldType: {"kind", "nullable", "precision", "scale"},
    Query: {
        *("name", "window", "group_by", "aggregates", "late", "retention_us", "entries_max"),
        *("early", "accumulation", "empty_after", "having"),
    },
    JoinQuery: {"late", "retention_us", "entries_max"},
    Sliding: {"range_", "slide", "attribute", "origin", "pattr", "align", "active"},
    Activity: {"begins_us", "until_us", "warmup", "joined", "left", "later"},
    ControlRule: {"believe", "queries", "key"},
    Landmark: {"slide", "attribute", "origin", "pattr"},
    RowWindow: {"range_", "slide", "pattr", "order", "align"},
    SlideByTuple: {"range_", "attribute", "pattr"},
    SlideByN: {"range_", "slide", "attribute", "pattr"},
    SlideByRank: {"range_", "slide", "attribute", "pattr"},
    Session: {"range_", "attribute", "pattr", "gaps"},
    Aggregate: {"name", "function", "field", "more", "parameters", "user", "code"},
    OperatorQuery: {"name", "steps", "fields", "order", "clock", "late"},
    Punctuate: {"when"},
    Condition: {"field", "comparator", "constant"},
    AggregateStep: {
        *("window", "aggregates", "group_by", "partial_windows", "evicted_partitions"),
    },
    SortStep: {"window", "by"},
    DedupStep: {"window", "by"},
    UserStep: {"window", "reference", "outputs", "settings"},
    WindowClause: {"kind", "eviction", "trigger", "partition_by", "partition_eviction"},
    Count: {"size"},
    Delta: {"attribute", "threshold"},
    Time: {"period_us"},
    PartitionCount: {"size", "selection"},
    TupleCount: {"size", "selection"},
    PartitionAge: {"age_us"},
    Late: {"policy", "mode", "every"},
    AttributeStep: {"amount"},
    Early: {"every_us", "records"},
}
"""What the fingerprint has of each class. A field that is new has to be put here, or there."""


@pytest.mark.parametrize("class_", FACTS, ids=lambda class_: class_.__name__)
def test_every_field_is_a_fact_or_is_known_to_be_none(class_: type) -> None:
    model = issubclass(class_, BaseModel)
    has = {*class_.model_fields} if model else {one.name for one in fields(class_)}
    assert has == FACTS[class_] | {name for of, name in NO_FACTS if of is class_}


def test_every_generator_and_class_of_windows_has_a_name_of_its_own() -> None:
    texts = [line["text"] for line in recorded()]
    classes = {type(query.window) for text in texts for query in parse_pipeline(text).of(Query)}
    assert classes == {*CLASSES}


def test_accepting_a_compacted_topic_is_no_other_pipeline() -> None:
    plain = parse_pipeline(PIPELINE)
    accepted = parse_pipeline(PIPELINE.replace("  disorder", "  compacted: true\n  disorder"))
    assert (plain.source.compacted, accepted.source.compacted) == (False, True)
    assert plain.fingerprint == accepted.fingerprint
