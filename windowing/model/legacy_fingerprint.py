"""Fingerprints in the first format, for state written at the time. Frozen.

The first format was the digest of the `repr` of a pipeline's objects, with names of classes and
attributes. Here these texts are written out, so that a rename elsewhere does not change them. They
are used only to open a checkpoint or a table that bears such a fingerprint; from then on, the
current format is written.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from windowing.model.emission import Early
from windowing.model.fields import Aggregate, FieldType
from windowing.model.join import Comparison, Join, JoinedSource, JoinSide, Operand
from windowing.model.joined import JoinedLane
from windowing.model.late import Late
from windowing.model.progress import (
    Adaptive,
    Delays,
    Disorder,
    Heartbeat,
    OrderedPer,
    Punctuation,
    Slack,
    SlackRows,
    Unordered,
)
from windowing.model.query import JoinQuery, Query
from windowing.model.source import EventTime, Source
from windowing.model.user.user_aggregate import class_source
from windowing.model.windows.window import Window

_LEGACY = re.compile(r"[0-9a-f]{16}")
_DIGITS = 16
_CLASSES = {
    "sliding": "<WindowClass.SLIDING: 'sliding'>",
    "landmark": "<WindowClass.LANDMARK: 'landmark'>",
    "tuple": "<WindowClass.TUPLE: 'tuple'>",
    "slide by tuple": "<WindowClass.SLIDE_BY_TUPLE: 'slide_by_tuple'>",
    "slide by n": "<WindowClass.SLIDE_BY_N: 'slide_by_n'>",
    "slide by rank": "<WindowClass.SLIDE_BY_RANK: 'slide_by_rank'>",
    "session": "<WindowClass.SESSION: 'session'>",
}
"""By kind; without users' classes, which did not exist at the time."""


def is_legacy(text: str) -> bool:
    """Return whether a fingerprint is in the first format, which had no number."""
    return _LEGACY.fullmatch(text) is not None


def legacy_fingerprint(source: Source, shards: int, flows: Sequence[Query | JoinQuery]) -> str:
    """The fingerprint of a pipeline in the first form.

    Args: as for `windowing.model.fingerprint.fingerprint`.

    Raises:
        UserAggregateError: a class cannot be used.
    """
    shown = f"({_source(source)}, {shards}, {_tuple(map(_flow, flows))})"
    if source.joined_lanes:
        shown += _tuple(map(_lane, source.joined_lanes))
    return _digest(shown)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _object(class_: str, /, **parts: str) -> str:
    """Return the `repr` of an object, from the texts of its attributes."""
    return f"{class_}({', '.join(f'{part}={value}' for part, value in parts.items())})"


def _tuple(parts: Iterable[str]) -> str:
    """Return the `repr` of a tuple."""
    spelled = [*parts]
    return f"({spelled[0]},)" if len(spelled) == 1 else f"({', '.join(spelled)})"


def _dict(parts: Mapping[str, str]) -> str:
    """Return the `repr` of a dict, from the texts of its values."""
    return "{" + ", ".join(f"{name!r}: {value}" for name, value in parts.items()) + "}"


def _source(source: Source) -> str:
    parts = {
        "topic": repr(source.topic),
        "partitions": repr(source.partitions),
        "format": repr(source.format),
        "event_time": _event_time(source.event_time),
        "fields": _dict({name: _type(type_) for name, type_ in source.fields.items()}),
        "disorder": _disorder(source.disorder),
        "disorder_of": _dict({name: _disorder(one) for name, one in source.disorder_of.items()}),
        "idle_timeout_us": repr(source.idle_timeout_us),
        "unknown_fields": repr(source.unknown_fields),
        "dense": repr(source.dense),
    }
    if isinstance(source, JoinedSource):
        return _object("JoinedSource", **parts, join=_join(source.join))
    return _object("Source", **parts)


def _event_time(time: EventTime) -> str:
    return _object(
        "EventTime",
        field=repr(time.field),
        unit=repr(time.unit),
        min_us=repr(time.min_us),
        max_us=repr(time.max_us),
        max_ahead_us=repr(time.max_ahead_us),
    )


def _type(type_: FieldType) -> str:
    return _object("FieldType", kind=repr(type_.kind), nullable=repr(type_.nullable))


def _lane(lane: JoinedLane) -> str:
    return _object(
        "JoinedLane",
        topic=repr(lane.topic),
        partition=repr(lane.partition),
        number=repr(lane.number),
        at=repr(lane.at),
    )


def _disorder(disorder: Disorder) -> str:
    match disorder:
        case Slack(slack_us):
            return _object("Slack", slack_us=repr(slack_us))
        case SlackRows(rows):
            return _object("SlackRows", rows=repr(rows))
        case Heartbeat(sources):
            named = (f"({lane!r}, {_delays(delays)})" for lane, delays in sources)
            return _object("Heartbeat", sources=_tuple(named))
        case Punctuation(attr):
            return _object("Punctuation", attr=repr(attr))
        case OrderedPer(attr, members):
            return _object("OrderedPer", attr=repr(attr), members=repr(members))
        case Adaptive(late, over_rows):
            return _object("Adaptive", late=_number(late), over_rows=repr(over_rows))
        case Unordered():
            return _object("Unordered")
    return repr(disorder)  # unknown to the first format, so no stored fingerprint has it


def _delays(delays: Delays) -> str:
    return _object(
        "Delays",
        max_delay_us=repr(delays.max_delay_us),
        min_delay_us=repr(delays.min_delay_us),
        skew_us=repr(delays.skew_us),
    )


def _number(number: Fraction | int) -> str:
    whole = isinstance(number, int)
    return repr(number) if whole else f"Fraction({number.numerator}, {number.denominator})"


def _flow(flow: Query | JoinQuery) -> str:
    return _join_query(flow) if isinstance(flow, JoinQuery) else _query(flow)


def _join_query(query: JoinQuery) -> str:
    """A join as what stood for it then: a query of a window and of aggregates that it had not."""
    window = _object(
        "Window",
        kind="<WindowClass.JOIN: 'join'>",
        range_="None",
        slide="1",
        attribute=repr(query.attribute),
        origin="0",
        pattr="None",
        order="'log'",
        align="'end'",
        gaps="()",
    )
    shown = (Aggregate(name, "first", one.name) for name, one in query.select.items())
    return _object(
        "Query",
        name=repr(query.name),
        window=window,
        group_by=repr(query.key),
        aggregates=_tuple(map(_aggregate, shown)),
        late=_late(query.late),
        retention_us=repr(query.retention_us),
        entries_max=repr(query.entries_max),
        early="None",
        accumulation=repr(query.accumulation),
    )


def _query(query: Query) -> str:
    return _object(
        "Query",
        name=repr(query.name),
        window=_window(query.window),
        group_by=repr(query.group_by),
        aggregates=_tuple(map(_aggregate, query.aggregates)),
        late=_late(query.late),
        retention_us=repr(query.retention_us),
        entries_max=repr(query.entries_max),
        early="None" if query.early is None else _early(query.early),
        accumulation=repr(query.accumulation),
    )


def _window(window: Window) -> str:
    return _object(
        "Window",
        kind=_CLASSES.get(window.kind, repr(window.kind)),
        range_=repr(window.range_),
        slide=repr(window.slide),
        attribute=repr(window.attribute),
        origin=repr(window.origin),
        pattr=repr(window.pattr),
        order=repr(window.facts().get("rows_by", "log")),
        align=repr(window.align),
        gaps=repr(window.gaps),
    )


def _aggregate(aggregate: Aggregate) -> str:
    # Of a user's class, only its own source, without its module.
    code = None if aggregate.user is None else _digest(class_source(aggregate.user))
    return _object(
        "Aggregate",
        name=repr(aggregate.name),
        function=repr(aggregate.function),
        field=repr(aggregate.field),
        more=repr(aggregate.more),
        parameters=_tuple(map(_number, aggregate.parameters)),
        user=repr(aggregate.user),
        code=repr(code),
    )


def _late(late: Late) -> str:
    every = late.every
    step = (
        "None"
        if every is None
        else _object("Step", amount=repr(every.amount), timed=repr(every.timed))
    )
    return _object("Late", policy=repr(late.policy), mode=repr(late.mode), every=step)


def _early(early: Early) -> str:
    return _object("Early", every_us=repr(early.every_us), records=repr(early.records))


def _join(join: Join) -> str:
    return _object(
        "Join",
        left=_side(join.left),
        right=_side(join.right),
        kind=repr(join.kind),
        equal=repr(join.equal),
        where=_tuple(map(_comparison, join.where)),
        select=_dict({name: _operand(operand) for name, operand in join.select.items()}),
    )


def _side(side: JoinSide) -> str:
    return _object("JoinSide", source=_source(side.source), window_us=repr(side.window_us))


def _operand(operand: Operand) -> str:
    return _object("Operand", side=repr(operand.side), field=repr(operand.field))


def _comparison(comparison: Comparison) -> str:
    second = comparison.second
    return _object(
        "Comparison",
        first=_operand(comparison.first),
        operator=repr(comparison.operator),
        second=_operand(second) if isinstance(second, Operand) else repr(second),
    )
