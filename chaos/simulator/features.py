"""Features of a case, derived from its pipeline, log and plan, not from how it was drawn.

Two features meet if they can influence each other: a query's own meet those of its source, its log
and its run. Coverage counts the pairs that have met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, get_args

from chaos.simulator.case import Case, FailureKind, record
from chaos.simulator.run_features import Feature, of_faults, of_log, of_run
from windowing.model.asof import AsofQuery
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.functions import SIGNATURES
from windowing.model.operators.join import PolicyJoinQuery
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep, DedupStep, Punctuate, SortStep, UserStep
from windowing.model.progress import (
    Adaptive,
    Disorder,
    Heartbeat,
    OrderedPer,
    Punctuation,
    Slack,
    SlackRows,
)
from windowing.model.query import Flow, JoinQuery
from windowing.model.rules import in_log_order
from windowing.model.source import Source
from windowing.model.window_join import WindowJoinQuery
from windowing.model.windows.activity import Activity
from windowing.model.windows.policy import PartitionAge, PartitionCount, TupleCount, WindowClause
from windowing.model.windows.window import Window
from windowing.semantics.arrivals import follow
from windowing.semantics.values import ValueReader
from windowing.semantics.view import lanes_of

FEATURES: Final[dict[str, tuple[str, ...]]] = {
    "class": (
        *("sliding", "tumbling", "landmark", "rows", "landmark rows", "ranked rows"),
        *("landmark ranked rows", "by tuple", "by n", "by rank", "session", "session of rows"),
        *("inner join", "left join", "right join", "full join", "join over policy windows"),
        *("operators", "cumulate", "cumulate local", "calendar", "as-of join", "window join"),
    ),
    "axis": ("time", "number"),
    "generator": (
        *("ordered", "slack", "slack in rows", "heartbeat", "punctuation", "adaptive"),
        *("ordered per members", "ordered per key", "punctuation per key"),
    ),
    "late": ("drop", "dead_letter", "update"),
    "mode": ("generous", "consistent"),
    "accumulation": ("accumulating", "discarding", "retracting"),
    "early": ("none", "records", "every"),
    "sends": ("windows without records", "rows that hold"),
    "aggregate": (*SIGNATURES, "python"),
    "retention": ("none", "time", "windows", "entries"),
    "group_by": ("none", "one", "several"),
    "window": ("ALIGN start", "ORIGIN", "PATTR", "gaps", "from", "until"),
    "join": ("equal", "where", "a window on one side", "windows on both sides"),
    "operator": ("aggregate", "sort", "dedup", "user's", "punctuate", "chain"),
    "eviction": (
        *("tumbling count", "tumbling delta", "tumbling time", "tumbling punct"),
        *("sliding count", "sliding delta", "sliding time"),
    ),
    "trigger": ("count", "delta", "time"),
    "partition": ("partitioned", "partition count", "tuple count", "partition age"),
    "selection": ("lru", "lfu", "oldest"),
    "operator option": ("partial windows", "evicted partitions"),
    "order": ("canonical", "lane"),
    "source": (
        *("dense", "unknown fields ignored", "max_ahead", "min and max", "several lanes"),
        *("idle lanes", "key may be null", "a lane joined", "duplicates"),
        *("derived fields", "rules", "filter", "expressions in aggregates", "metadata"),
        "several topics",
    ),
    "control": ("bound", "bound on", "now", "seen", "end"),
    "believes": ("none", "bounds", "all", "signed"),
    "refused": ("not_allowed", "change_too_late", "malformed"),
    "run": (
        *("several shards", "several queries", "compaction at once", "compaction later"),
        *("rows through the sinks' code", "redelivery is an error", "hundreds of records"),
        *("fused where it applies", "slices shared where possible"),
    ),
    "log": ("bad values",),
    "fault": (
        *get_args(FailureKind),
        *("chunks cut", "chunk twice", "records again", "other workers", "tasks moved"),
        *("commit lost", "state damaged", "driver plans first", "driver on the same batch"),
        *("old checkpoint", "table lost", "other shards"),
    ),
}
"""All features by subject."""

OPERATOR_SUBJECTS: Final = (
    *("operator", "eviction", "trigger", "partition", "selection", "operator option", "order"),
)
"""The subjects of features that only queries with operators have."""

SEVERAL: Final = {
    *("aggregate", "window", "join", "source", "control", "believes", "refused", "run", "fault"),
    "sends",
    # A chain has several windows.
    *(of for of in OPERATOR_SUBJECTS if of != "order"),
}
"""Subjects of which a query may have several features. (A join has two generators.)"""

ALL: Final[tuple[Feature, ...]] = tuple((of, one) for of in FEATURES for one in FEATURES[of])
_NUMBER: Final = {feature: number for number, feature in enumerate(ALL)}


def pairs_of(case: Case, pipeline: Pipeline) -> frozenset[int]:
    """Return the numbers of the pairs of features that meet in a case; see `pair_number`."""
    around = {*_source(pipeline), *_believes(pipeline), *of_log(case), *of_run(case, pipeline)}
    around |= {*of_faults(case), *_refused(case, pipeline)}
    pairs: set[int] = set()
    for query in pipeline.flows:
        numbers = sorted(_NUMBER[feature] for feature in around | {*_flow(pipeline, query)})
        pairs |= {low * len(ALL) + high for low, high in combinations(numbers, 2)}
    return frozenset(pairs)


def pair_number(one: Feature, other: Feature) -> int:
    """Return the number of a pair, independent of its order."""
    low, high = sorted((_NUMBER[one], _NUMBER[other]))
    return low * len(ALL) + high


def _flow(pipeline: Pipeline, query: Flow) -> Iterator[Feature]:
    yield "late", query.late.policy
    yield "mode", query.late.mode
    yield from (("retention", kept) for kept in _retention(pipeline, query))
    yield from _OF_KIND[query.flow_kind](pipeline.source, query)


def _query(source: Source, query: Query) -> Iterator[Feature]:
    window = query.window
    if window.kind in _CLASSES:
        yield "class", _CLASSES[window.kind](window)
    attribute = source.ordered_by(window.attribute)
    yield "axis", "time" if attribute == source.event_time.field else "number"
    yield "generator", _generator(source.generator_of(attribute))
    yield "accumulation", query.accumulation
    yield "early", _early(query)
    sends = {"windows without records": query.empty_after > 0}
    sends["rows that hold"] = query.having is not None
    yield from (("sends", name) for name, there in sends.items() if there)
    yield from (("aggregate", aggregate.function) for aggregate in query.aggregates)
    yield "group_by", _groups(query.group_by)
    active = window.active or Activity()
    shape = {
        "from": active.begins_us is not None,
        "until": active.until_us is not None,
        "ALIGN start": window.align == "start",
        "ORIGIN": window.origin != 0,
        "PATTR": window.pattr is not None,
        "gaps": bool(window.gaps),
    }
    yield from (("window", name) for name, there in shape.items() if there)


def _groups(fields: Sequence[str]) -> str:
    return ("none", "one", "several")[min(len(fields), 2)]


def _row_class(window: Window) -> str:
    rows = "rows" if in_log_order(window) else "ranked rows"
    return f"landmark {rows}" if window.traits.cumulative else rows


_CLASSES: Final[Mapping[str, Callable[[Window], str]]] = {
    "sliding": lambda window: "tumbling" if window.range_ == window.slide else "sliding",
    "landmark": lambda _: "landmark",
    "cumulate": lambda window: "cumulate" if window.traits.on_grid else "cumulate local",
    "calendar": lambda _: "calendar",
    "tuple": _row_class,
    "slide by tuple": lambda _: "by tuple",
    "slide by n": lambda _: "by n",
    "slide by rank": lambda _: "by rank",
    "session": lambda window: "session of rows" if in_log_order(window) else "session",
}
"""The feature `class` by the kind of window; those of users' packages have none."""


def _generator(disorder: Disorder) -> str:
    match disorder:
        case Slack(0):
            return "ordered"
        case Slack():
            return "slack"
        case SlackRows():
            return "slack in rows"
        case Heartbeat():
            return "heartbeat"
        case Adaptive():
            return "adaptive"
        case Punctuation(attr):
            return "punctuation" if attr is None else "punctuation per key"
        case OrderedPer(_, members):
            return "ordered per key" if members is None else "ordered per members"
    return "ordered"


def _early(query: Query) -> str:
    if query.early is None:
        return "none"
    return "every" if query.early.records is None else "records"


def _retention(pipeline: Pipeline, query: Flow) -> Iterator[str]:
    file = pipeline.query_files.get(query.name)
    kept = (file.retention if file is not None else None) or pipeline.retention
    if query.entries_max is not None:
        yield "entries"
    if query.retention_us is None:
        yield "none"
    elif kept is not None:
        yield "time" if kept.windows is None else "windows"


def _join(_: Source, join: JoinQuery) -> Iterator[Feature]:
    policies = isinstance(join, PolicyJoinQuery)
    yield from _joined("join over policy windows" if policies else f"{join.kind} join", join)
    windows = sum(window is not None for window in (join.left, join.right))
    if windows:
        yield "join", "a window on one side" if windows == 1 else "windows on both sides"


def _joined(kind: str, join: JoinQuery) -> Iterator[Feature]:
    yield "class", kind
    yield from (("generator", _generator(part.disorder)) for part in join.sources)
    if join.on:
        yield "join", "equal"
    if join.where:
        yield "join", "where"


def _operators(source: Source, query: OperatorQuery) -> Iterator[Feature]:
    yield "class", "operators"
    yield "axis", "time"
    yield "generator", _generator(source.disorder)
    yield "order", query.order
    if len(query.windows) > 1:
        yield "operator", "chain"
    for step in query.steps:
        yield "operator", _OPERATORS[type(step)]
        if not isinstance(step, Punctuate):
            yield from _policy_window(step.window)
    if isinstance(query.last, AggregateStep):
        yield from _aggregate(query.last)


_OPERATORS: Final = {
    Punctuate: "punctuate",
    AggregateStep: "aggregate",
    SortStep: "sort",
    DedupStep: "dedup",
    UserStep: "user's",
}


def _policy_window(window: WindowClause) -> Iterator[Feature]:
    yield "eviction", f"{window.kind} {type(window.eviction).__name__.lower()}"
    if window.trigger is not None:
        yield "trigger", type(window.trigger).__name__.lower()
    if window.partition_by:
        yield "partition", _PARTITIONS[type(window.partition_eviction)]
    if isinstance(window.partition_eviction, PartitionCount | TupleCount):
        yield "selection", window.partition_eviction.selection.value


_PARTITIONS: Final = {
    type(None): "partitioned",
    PartitionCount: "partition count",
    TupleCount: "tuple count",
    PartitionAge: "partition age",
}


def _aggregate(step: AggregateStep) -> Iterator[Feature]:
    yield from (("aggregate", aggregate.function) for aggregate in step.aggregates)
    yield "group_by", _groups(step.group_by)
    if step.partial_windows:
        yield "operator option", "partial windows"
    if step.evicted_partitions:
        yield "operator option", "evicted partitions"


def _source(pipeline: Pipeline) -> Iterator[Feature]:
    source = pipeline.source
    parts = source.parts
    roles = {one.role for part in parts for one in part.computations}
    keys = {field for query in pipeline.flows for field in query.key if field in source.fields}
    there = {
        "dense": any(part.dense for part in parts),
        "unknown fields ignored": any(part.unknown_fields == "ignore" for part in parts),
        "max_ahead": any(part.event_time.max_ahead_us is not None for part in parts),
        "min and max": any(_bounded(part) for part in parts),
        "several lanes": source.partitions > 1,
        "idle lanes": source.idle_timeout_us is not None,
        "a lane joined": bool(source.added_lanes),
        "duplicates": any(part.duplicates is not None for part in parts),
        "derived fields": "derive" in roles,
        "rules": not roles.isdisjoint(("rule", "warn")),
        "filter": "where" in roles,
        "expressions in aggregates": "argument" in roles,
        "metadata": bool(source.metadata),
        "several topics": source.topics is not None,
        "key may be null": any(source.fields[field].nullable for field in keys),
    }
    yield from (("source", name) for name, is_there in there.items() if is_there)


def _bounded(source: Source) -> bool:
    time = source.event_time
    return time.min_us > -(2**63) or time.max_us < 2**63


def _believes(pipeline: Pipeline) -> Iterator[Feature]:
    for part in pipeline.source.parts:
        yield "believes", part.control.believe
        if part.control.key is not None:
            yield "believes", "signed"


def _refused(case: Case, pipeline: Pipeline) -> Iterator[Feature]:
    """Yield why control records are dead letters, by what their own lane has said before."""
    lanes = lanes_of(pipeline.source, None)
    for number, (lane, events) in enumerate(zip(lanes, case.lanes, strict=True)):
        entries = [record(event) for event in events]
        controls = {entry.offset for entry in entries if entry.control is not None}
        if not controls:
            continue
        for arrival in follow(lane, entries, ValueReader(pipeline, number, takes_changes=True)):
            if arrival.offset in controls and arrival.content in FEATURES["refused"]:
                yield "refused", str(arrival.content)


_OF_KIND: Final[Mapping[str, Callable[[Source, Any], Iterator[Feature]]]] = {
    Query.flow_kind: _query,
    JoinQuery.flow_kind: _join,
    AsofQuery.flow_kind: lambda _, join: _joined("as-of join", join),
    WindowJoinQuery.flow_kind: lambda _, join: _joined("window join", join),
    OperatorQuery.flow_kind: _operators,
}
