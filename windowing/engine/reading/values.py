"""Decode one value into a record, or into a rejection reason.

The rules and their order are those of the format's contract. This is the exact decoder, one value
at a time; `windowing.engine.reading.pack` decodes whole batches and falls back to this for doubtful
values.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from windowing.engine.reading.gate import Gate
from windowing.model.file.pipeline import EventTime, Pipeline
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.limits import EARLIEST, LATEST
from windowing.model.progress import Delays, Heartbeat
from windowing.model.source import Source

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)
_ISO = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)?", re.ASCII)
DEPTH_MAX = 512
"""The deepest legal nesting of objects and arrays; deeper values are malformed."""

UNIT_US = {"us": 1, "ms": 1_000, "s": 1_000_000}
"""Microseconds in a unit of event time."""


class BadValue(Exception):
    """A rejected value; `reason` is the dead letter's reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True, eq=False)
class ValueRules:
    """The rules for valid values of one source, compared by identity.

    Attributes:
        event_time: the field of the time, and the legal instants.
        fields: per declared field, its kind and whether null is allowed.
        key_fields: the fields that some query groups by.
        ignore_unknown: undeclared fields are ignored instead of refused.
        earliest: the earliest time, or value of another attribute, that the sink can hold.
        placed_by: windowing attributes other than the event time.
        delays: of the lanes about which heartbeats are used.
        progress_attr: the field whose values have progress of their own, or None.
        gate: what is believed of control records.
    """

    event_time: EventTime
    fields: dict[str, tuple[str, bool]]
    key_fields: frozenset[str]
    ignore_unknown: bool
    earliest: int = EARLIEST
    placed_by: frozenset[str] = frozenset()
    delays: dict[str, Delays] = field(default_factory=dict)
    progress_attr: str | None = None
    gate: Gate = field(default_factory=Gate)

    @classmethod
    def of(cls, pipeline: Pipeline, number: int = 0) -> ValueRules:
        """Return a pipeline's rules for a lane; they differ only between the sides of a join."""
        source, _ = pipeline.source.place(number)
        return cls(
            event_time=source.event_time,
            fields={name: (kind.kind, kind.nullable) for name, kind in source.fields.items()},
            key_fields=pipeline.key_fields(number),
            ignore_unknown=source.unknown_fields == "ignore",
            earliest=pipeline.earliest,
            placed_by=pipeline.placed_by,
            delays=_believed(source),
            progress_attr=source.disorder.progress_attr,
            gate=Gate.of(pipeline, number),
        )

    @property
    def first_us(self) -> int:
        """The earliest legal event time."""
        return max(self.event_time.first_us, self.earliest)

    def places(self, name: str, value: Any) -> Any:
        """Check that windows over a field can hold its value, and return it.

        Raises:
            BadValue: `bad_type`.
        """
        if name in self.placed_by and not self.earliest <= value < LATEST:
            raise BadValue("bad_type")
        return value

    def known(self, name: str) -> bool:
        """Return whether a value may have a field of this name."""
        return name in self.fields or name == self.event_time.field

    def progress_key(self, name: str, value: Any) -> dict[str, Any] | None:
        """Return the key of a bound on `name` = `value`; None: it has no progress of its own."""
        if name != self.progress_attr:
            return None
        kind, nullable = self.fields[name]
        try:
            return {name: _typed(value, kind, nullable)}
        except BadValue:
            return None  # impossible value


def _believed(source: Source) -> dict[str, Delays]:
    """Return the delays of the lanes about which heartbeats are used.

    Lanes that joined are excluded: otherwise earlier heartbeats in other lanes would count or not,
        depending on when the job learned of the lane.
    """
    if not isinstance(source.disorder, Heartbeat):
        return {}
    joined = {lane.name for lane in source.joined}
    return {name: delays for name, delays in source.disorder.sources if name not in joined}


def read_value(
    value: bytes | None, append_us: int | None, rules: ValueRules
) -> tuple[int, dict[str, Any]]:
    """Decode one value.

    Args:
        value: the bytes on the log; None: malformed.
        append_us: the broker's append time, or None where it is not known.
        rules: of the pipeline.

    Returns:
        event time in microseconds UTC, and the declared fields (absent is None).

    Raises:
        BadValue: with the first reason that applies.
    """
    record = parse_object(value)
    ts_us = _event_time(record.get(rules.event_time.field), append_us, rules)
    if not rules.ignore_unknown and not all(rules.known(name) for name in record):
        raise BadValue("unknown_field")
    for name in rules.key_fields:
        if record.get(name) is None and not rules.fields[name][1]:
            raise BadValue("null_key")
    return ts_us, {
        name: rules.places(name, _typed(record.get(name), kind, nullable))
        for name, (kind, nullable) in rules.fields.items()
    }


def parse_object(value: bytes | None) -> dict[str, Any]:
    """Parse a JSON object strictly: UTF-8, no NaN, no lone surrogate, integers kept exact.

    Raises:
        BadValue: `malformed`.
    """
    if value is None:
        raise BadValue("malformed")
    try:
        parsed = json.loads(
            value.decode("utf-8"),
            parse_constant=_no_constant,
            parse_int=_integer,
            object_pairs_hook=_object,
        )
        if _depth(parsed) > DEPTH_MAX:
            raise BadValue("malformed")
    except (ValueError, RecursionError):
        raise BadValue("malformed") from None
    if not isinstance(parsed, dict):
        raise BadValue("malformed")
    return parsed


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; the last of equal names wins, but the others must be JSON too."""
    for name, value in pairs:
        name.encode("utf-8")
        _refuse_surrogates(value)
    return dict(pairs)


def _refuse_surrogates(value: Any) -> None:
    """Raise ValueError for a lone surrogate in a text or an array; objects check their own."""
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, list):
        for part in value:
            _refuse_surrogates(part)


def _depth(value: Any) -> int:
    """Return the nesting depth of objects and arrays; stops early if far too deep."""
    depth, level = 0, [value]
    while level and depth <= DEPTH_MAX:
        level = [part for part in level if isinstance(part, (dict, list))]
        depth += bool(level)
        level = [
            child for part in level for child in (part.values() if isinstance(part, dict) else part)
        ]
    return depth


def _no_constant(text: str) -> NoReturn:
    msg = f"{text} is not JSON"
    raise ValueError(msg)


def _integer(digits: str) -> int:
    # Python refuses to parse very long integers; all are far outside 64 bits, so a shorter integer
    # of the same sign replaces them.
    if len(digits) > 400:
        return -(10**400) if digits.startswith("-") else 10**400
    return int(digits)


def _event_time(value: Any, append_us: int | None, rules: ValueRules) -> int:
    rule = rules.event_time
    if value is None:
        raise BadValue("missing_event_time")
    ts_us = iso_us(value) if rule.unit == "iso" else _integer_us(value, UNIT_US[rule.unit])
    if not rules.first_us <= ts_us < rule.end_us:
        raise BadValue("time_out_of_range")
    ahead_us = rule.max_ahead_us
    if append_us is not None and ahead_us is not None and ts_us > append_us + ahead_us:
        raise BadValue("time_ahead")
    return ts_us


def check_instant(instant_us: int, append_us: int | None, rule: EventTime) -> None:
    """Check that a control record may claim that nothing comes before an instant.

    `max` itself is legal: all legal times are before it.

    Raises:
        BadValue: `time_out_of_range` or `time_ahead`.
    """
    if instant_us > rule.end_us:
        raise BadValue("time_out_of_range")
    ahead_us = rule.max_ahead_us
    if append_us is not None and ahead_us is not None and instant_us > append_us + ahead_us:
        raise BadValue("time_ahead")


def _integer_us(value: Any, unit_us: int) -> int:
    if type(value) is not int:
        raise BadValue("bad_event_time")
    return int(value * unit_us)


def iso_us(value: Any) -> int:
    """Parse `YYYY-MM-DDTHH:MM:SS[.ffffff][Z|±HH:MM]`; no zone means UTC.

    Raises:
        BadValue: `bad_event_time`.
    """
    match = _ISO.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise BadValue("bad_event_time")
    moment, fraction, zone = match.groups()
    try:
        seconds = (datetime.fromisoformat(moment + "+00:00") - _EPOCH) // _US
        ahead = _zone_us(zone) if zone and zone != "Z" else 0
    except ValueError:
        raise BadValue("bad_event_time") from None
    return seconds + int((fraction or "0").ljust(6, "0")) - ahead


def _zone_us(zone: str) -> int:
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 23 or minutes > 59:
        msg = f"{zone} is not an offset from UTC"
        raise ValueError(msg)
    offset_us = (hours * 60 + minutes) * 60_000_000
    return -offset_us if zone[0] == "-" else offset_us


def _typed(value: Any, kind: str, nullable: bool) -> Any:
    if value is None:
        if nullable:
            return None
        raise BadValue("bad_type")
    return _READERS[kind](value)


def _int(value: Any) -> int:
    if type(value) is not int or not INT64_MIN <= value <= INT64_MAX:
        raise BadValue("bad_type")
    return value


def _float(value: Any) -> float:
    if type(value) not in (int, float):
        raise BadValue("bad_type")
    try:
        number = float(value)
    except OverflowError:
        raise BadValue("bad_type") from None
    if not math.isfinite(number):
        raise BadValue("bad_type")
    return number + 0.0  # turns -0.0 into 0.0


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise BadValue("bad_type")
    return value


_READERS: dict[str, Callable[[Any], Any]] = {"int": _int, "float": _float, "string": _string}


def misfit(record: dict[str, Any], rules: ValueRules) -> str | None:
    """Return the first declared field whose value its type does not allow, or None."""
    for name, (kind, nullable) in rules.fields.items():
        try:
            rules.places(name, _typed(record.get(name), kind, nullable))
        except BadValue:
            return name
    return None
