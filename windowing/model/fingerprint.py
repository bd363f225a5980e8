"""A pipeline's fingerprint: the digest of the facts that give it its meaning, as canonical JSON.

A checkpoint, and the tokens in tables, belong to a fingerprint. So the names and order of facts are
a format, independent of classes, attributes and libraries: they are written out here, and for
windows in the file of each class. Never rename them; give a fact that is added later a default, at
which it is omitted. Any other change needs a new `FORMAT`.

`tests/unit/checkpoints/fingerprints.jsonl` records examples.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from windowing.model.added_lanes import AddedLane
from windowing.model.emission import Early, Late
from windowing.model.event_time import EventTime
from windowing.model.facts import Fact, Facts, spelled, without_defaults
from windowing.model.fields import Aggregate, with_code
from windowing.model.file.conflicts import OwnCopy
from windowing.model.join import Comparison, Join, JoinedSource, JoinSide, Operand
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.operators.language import spelled as spelled_clause
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep, DedupStep, Punctuate, SortStep, Step
from windowing.model.pair_values import PairExpression
from windowing.model.query import Flow, Query
from windowing.model.source import Source
from windowing.model.times import TextTimes
from windowing.model.user import user_operator
from windowing.model.window_join import WindowJoinQuery
from windowing.model.windows.window import Window

FORMAT = 1
"""The format number, written before the digest."""

_DIGITS = 16


class OfTheLog(NamedTuple):
    """What a log has made of the names of queries.

    Attributes:
        conflicts: the names that lanes have given to different queries.
        forgotten: names that it does not change.
    """

    conflicts: Mapping[str, Mapping[str, OwnCopy]] = {}
    forgotten: Sequence[str] = ()

    def facts(self) -> Facts:
        """Return the facts; with which record a conflict was settled is none of them."""
        facts: Facts = {
            "conflicts": {name: _copies(copies) for name, copies in self.conflicts.items()},
            "forgotten": [*self.forgotten],
        }
        return without_defaults(facts, {"conflicts": {}, "forgotten": []})


def fingerprint(
    source: Source,
    shards: int,
    flows: Sequence[Flow],
    of_the_log: OfTheLog | None = None,
) -> str:
    """The fingerprint of a pipeline, `FORMAT:digest`.

    Imports the classes of the user's aggregates, operators and windows.

    Args:
        source: its source, as it is or was when it had fewer lanes.
        shards: how many parts its keys are spread over.
        flows: its queries, or its join.
        of_the_log: what its log has made of names; None: nothing.

    Raises:
        UserAggregateError, UserOperatorError: a class cannot be used.
        PluginError: a plug-in's window or generator cannot be used.
        WindowError: clauses break a rule of a window's plug-in.
    """
    facts = {"format": FORMAT, **facts_of(source, shards, flows)}
    facts |= {} if of_the_log is None else of_the_log.facts()
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return f"{FORMAT}:{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"


def facts_of(source: Source, shards: int, flows: Sequence[Flow]) -> Facts:
    """All that decides a result, by name.

    Args: as for `fingerprint`.

    Raises:
        UserAggregateError: a class cannot be used.
    """
    if isinstance(source, JoinedSource):
        (join,) = flows
        return {"shards": shards, "join": {**_join(source.join), **_over(join), **_kept(join)}}
    operators = {
        query.name: _operators(query) for query in flows if isinstance(query, OperatorQuery)
    }
    facts: Facts = {
        "shards": shards,
        "log": _log(source),
        "queries": {query.name: _query(query) for query in flows if isinstance(query, Query)},
        "operators": operators,
    }
    return without_defaults(facts, {"operators": {}})


def _copies(copies: Mapping[str, OwnCopy]) -> Facts:
    return {lane: [own.at, own.query, own.left] for lane, own in copies.items()}


def _log(source: Source) -> Facts:
    facts: Facts = {
        "topic": source.topic,
        "topics": [[*one] for one in (source.topics or {}).items()],
        "lanes": source.partitions,
        "format": source.format.fact(),
        "steps": [step.fact() for step in source.steps],
        "event_time": _event_time(source.event_time),
        "fields": {name: str(type_) for name, type_ in source.declared.items()},
        "progress": source.disorder.facts(),
        "progress_of": {name: one.facts() for name, one in source.disorder_of.items()},
        "idle_us": source.idle_timeout_us,
        "unknown_fields": source.unknown_fields,
        "dense": source.dense,
        "joined": {lane.name: _lane(lane) for lane in source.joined},
        "control": source.control.facts(),
        "duplicates": None if source.duplicates is None else source.duplicates.facts(),
    }
    return without_defaults(
        facts,
        {
            "topics": [],
            "format": "json",
            "steps": [],
            "progress_of": {},
            "idle_us": None,
            "unknown_fields": "dead_letter",
            "dense": False,
            "joined": {},
            "control": {},
            "duplicates": None,
        },
    )


def _event_time(time: EventTime) -> Facts:
    facts: Facts = {
        "field": time.field,
        "expr": time.expr,
        "unit": _unit(time),
        "fraction": time.fraction,
        "min_us": time.min_us,
        "max_us": time.max_us,
        "max_ahead_us": time.max_ahead_us,
    }
    return without_defaults(
        facts,
        {
            **{"expr": None, "fraction": False, "max_ahead_us": None},
            **{"min_us": INT64_MIN, "max_us": INT64_MAX + 1},
        },
    )


def _unit(time: EventTime) -> Fact:
    unit = time.unit
    return {"text": unit.format, "zone": unit.zone.name} if isinstance(unit, TextTimes) else unit


def _lane(lane: AddedLane) -> Facts:
    return {"lane": lane.number, "at": dict(lane.at)}


def _query(query: Query) -> Facts:
    facts: Facts = {
        "window": _window(query.window),
        "group_by": list(query.group_by),
        "aggregates": [_aggregate(with_code(aggregate)) for aggregate in query.aggregates],
        "early": None if query.early is None else _early(query.early),
        "accumulation": query.accumulation,
        "empty_after": query.empty_after,
        "having": None if query.having is None else query.having.text,
        **_kept(query),
    }
    absent: Facts = {"group_by": [], "early": None, "accumulation": "accumulating"}
    return without_defaults(facts, {**absent, "empty_after": 0, "having": None})


def _window(window: Window) -> Facts:
    return without_defaults(
        window.facts(),
        {
            **{"range": None, "origin": 0, "of_each": None, "rows_by": "log", "align": "end"},
            **{"gaps": [], "clauses": {}, "active": None},
        },
    )


def _aggregate(aggregate: Aggregate) -> Facts:
    facts: Facts = {
        "name": aggregate.name,
        "function": aggregate.function,
        "fields": list(aggregate.fields),
        "parameters": [spelled(parameter) for parameter in aggregate.parameters],
        "class": aggregate.user,
        "code": aggregate.code,
    }
    return without_defaults(facts, {"fields": [], "parameters": [], "class": None, "code": None})


def _early(early: Early) -> Facts:
    facts: Facts = {"every_us": early.every_us, "records": early.records}
    return without_defaults(facts, {"every_us": None, "records": None})


def _operators(query: OperatorQuery) -> Facts:
    facts: Facts = {
        "steps": [_step(step, query.attribute) for step in query.steps],
        # What Sort and Dedup show, in the order of a row's columns.
        "shows": list(query.shows),
        "order": query.order,
        "clock": query.clock,
        **_kept(query),
    }
    return without_defaults(facts, {"order": "canonical", "clock": "record"})


def _step(step: Step, event_time: str) -> Facts:
    if isinstance(step, Punctuate):
        when = step.when
        return {"punctuate": [when.field, when.comparator, when.constant]}
    facts: Facts = {"window": spelled_clause(step.window, event_time)}
    match step:
        case AggregateStep():
            own: Facts = {
                "group_by": list(step.group_by),
                "aggregates": [_aggregate(with_code(one)) for one in step.aggregates],
                "partial_windows": step.partial_windows,
                "evicted_partitions": step.evicted_partitions,
            }
            absent: Facts = {"group_by": [], "partial_windows": False, "evicted_partitions": False}
            return {"operator": "aggregate", **facts, **without_defaults(own, absent)}
        case SortStep():
            return {"operator": "sort", **facts, "by": [list(one) for one in step.by]}
        case DedupStep():
            return {"operator": "dedup", **facts, "by": list(step.by)}
    return {
        "operator": step.reference,
        **facts,
        "outputs": [list(output) for output in step.outputs],
        "settings": dict(step.settings),
        "code": user_operator.source_digest(step.reference, step.settings),
    }


def _kept(query: Flow) -> Facts:
    facts: Facts = {
        "late": _late(query.late),
        "retention": query.retention_us,
        "entries_max": query.entries_max,
    }
    return without_defaults(facts, {"late": {}, "retention": None, "entries_max": None})


def _late(late: Late) -> Facts:
    facts: Facts = {"policy": late.policy, "mode": late.mode, "every": late.every_us}
    return without_defaults(facts, {"policy": "dead_letter", "mode": "generous", "every": None})


def _join(join: Join) -> Facts:
    facts: Facts = {
        "kind": join.kind,
        "within_us": join.within,
        "where": [_comparison(one) for one in join.where],
    }
    return {
        **without_defaults(facts, {"kind": "inner", "within_us": None, "where": []}),
        "left": _side(join.left),
        "right": _side(join.right),
        # In the order of a row's key and its values.
        "equal": [[left, right] for left, right in join.equal.items()],
        "select": [[name, _shown(one)] for name, one in join.select.items()],
    }


def _over(join: Flow) -> Facts:
    if not isinstance(join, WindowJoinQuery):
        return {}
    # `kind` of the section says that it is a window join.
    return {"over": _window(join.over), **without_defaults({"outer": join.kind}, _INNER)}


_INNER: Facts = {"outer": "inner"}


def _side(side: JoinSide) -> Facts:
    clause, event_time = side.clause, side.source.event_time.field
    facts: Facts = {
        "log": _log(side.source),
        "window_us": side.window_us,
        "window": None if clause is None else spelled_clause(clause, event_time),
    }
    return without_defaults(facts, {"window_us": None, "window": None})


def _shown(one: Operand | PairExpression) -> Fact:
    return one.text if isinstance(one, PairExpression) else _operand(one)


def _operand(operand: Operand) -> Fact:
    return [operand.side, operand.field]


def _comparison(comparison: Comparison) -> Facts:
    second = comparison.second
    return {
        "first": _operand(comparison.first),
        "is": comparison.operator,
        **({"second": _operand(second)} if isinstance(second, Operand) else {"value": second}),
    }
