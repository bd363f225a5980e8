"""Decode a value into a record, or into a rejection reason.

The order of the reasons is part of the contract: the first that applies is the one reported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

from windowing.model.computed import BUILT_IN, Computation
from windowing.model.expressions.tree import names_in
from windowing.model.file.changes import Change
from windowing.model.file.pipeline import EventTime, Pipeline
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.limits import EARLIEST, LATEST
from windowing.model.metadata import is_metadata, metadata_of
from windowing.model.paths import member_name, parse_path
from windowing.model.progress import Disorder, Heartbeat
from windowing.model.rows import Scalar
from windowing.model.types import FieldType
from windowing.semantics.computing import Computing, EntryPlace
from windowing.semantics.controls import (
    Bound,
    Control,
    Observation,
    SignedLane,
    believed,
    reached,
    read_control,
)
from windowing.semantics.expressions import ExpressionFailure, value_of
from windowing.semantics.formats import decoding, definition_of_step
from windowing.semantics.json_objects import parse_object
from windowing.semantics.log import LogEntry
from windowing.semantics.paths import at_path
from windowing.semantics.times import read_time

Reason = Literal[
    "malformed",
    "missing_event_time",
    "bad_event_time",
    "time_out_of_range",
    "time_ahead",
    "unknown_field",
    "null_key",
    "bad_type",
    "change_too_late",
    "not_allowed",
]

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_NOWHERE = EntryPlace()


class _NoTime:
    """An expression of the event time has no value: it failed, or a field has another type."""


@dataclass(frozen=True, slots=True)
class Record:
    """A valid value.

    Attributes:
        ts_us: event time, microseconds since 1970.
        fields: the declared fields; absent ones are None.
        withheld: the name of its fate, if no window is to see it.
        warned: the names of the rules that only warn, and that it breaks.
        repeats: the offset of the record of its lane that a duplicate repeats.
    """

    ts_us: int
    fields: dict[str, Scalar]
    withheld: str | None = None
    warned: tuple[str, ...] = ()
    repeats: int | None = None


@dataclass(frozen=True, slots=True)
class RefusedControl:
    """A control record that is a dead letter."""

    reason: Reason


class ValueReader:
    """The decoder of one pipeline's values.

    Args:
        number: the lane's; it matters for a join, whose sides differ, and for signatures.
        takes_changes: whether changes of the queries that the pipeline does not know become part of
            it.

    Attributes:
        pipeline: the pipeline; with changes, if they are taken.
    """

    def __init__(self, pipeline: Pipeline, number: int = 0, *, takes_changes: bool = False) -> None:
        source, _ = pipeline.source.place(number)
        self.pipeline, self.takes_changes = pipeline, takes_changes
        self._control, self._founding = source.control, pipeline.source.founding
        self._time, self._disorder = source.event_time, source.disorder
        self._joined = {lane.name for lane in source.joined}
        self._types = source.declared
        self._by_expression, self._all_types = source.time, source.fields
        timed = () if source.time is not None else (source.event_time.field,)
        self._paths = {name: parse_path(name) for name in (*source.declared, *timed)}
        self._known = {path[0] for path in self._paths.values()}
        self._ignore_unknown = source.unknown_fields == "ignore"
        self._earliest, self._places = pipeline.earliest, pipeline.placed_by
        grouping = pipeline.key_fields(number)
        wanted = {name: type_.kind for name, type_ in source.declared.items()}
        if self._by_expression is None:
            wanted[self._time.field] = self._time.spelling.kind
        named = {member_name(name): kind for name, kind in wanted.items()}
        self._decode = decoding(source.format, named)
        own = [step for step in source.steps if step.name not in BUILT_IN]
        self._steps = [definition_of_step(step) for step in own]
        self._computing = Computing(source, pipeline.placed_by, pipeline.earliest)
        never_null = grouping & source.declared.keys()
        self._never_null = {name for name in never_null if not source.declared[name].nullable}

    def read_entry(self, entry: LogEntry) -> Record | str:
        """Return the record of an entry, or the first reason why its value is rejected."""
        about = (entry.source, entry.partition, entry.offset, entry.append_us, metadata_of(entry))
        return self.read(entry.value, entry.append_us, EntryPlace(*about))

    def read(
        self, value: bytes | None, append_us: int | None, place: EntryPlace = _NOWHERE
    ) -> Record | str:
        """Return the record, or the first reason why the value is rejected.

        Args:
            value: the bytes; None: a null value.
            append_us: when the broker appended it; None: `max_ahead` is not checked.
            place: its place in the log, which expressions may ask for.
        """
        document = self._decode(value)
        if document is None:
            return "malformed"
        ts_us = self._event_time(document, append_us, place)
        if isinstance(ts_us, str):
            return ts_us
        if not self._ignore_unknown and any(name not in self._known for name in document):
            return "unknown_field"
        if any(at_path(document, self._paths[name]) is None for name in self._never_null):
            return "null_key"
        fields: dict[str, Scalar] = {}
        for name, type_ in self._types.items():
            raw = at_path(document, self._paths[name])
            fields[name] = None if raw is None else self._scalar(type_, raw)
            if fields[name] is None and not (raw is None and type_.nullable):
                return "bad_type"
        for name in self._places & self._types.keys():
            at = fields[name]
            assert isinstance(at, int)  # noqa: S101 - windows are over ints alone, never null
            if not self._earliest <= at < LATEST:
                return "bad_type"
        return self._stepped(ts_us, fields, place)

    def _stepped(self, ts_us: int, fields: dict[str, Scalar], place: EntryPlace) -> Record | str:
        withheld: str | None = None
        for step in self._steps:
            found = step(ts_us, fields)
            if isinstance(found, str):
                return found
            if found is not None:
                withheld = found.name
                break
        computed = self._computing.of(fields, place, withheld=withheld is not None)
        if computed.letter is not None:
            return computed.letter
        return Record(ts_us, fields, withheld or computed.fate, computed.warned)

    def _event_time(
        self, document: Mapping[str, object], append_us: int | None, place: EntryPlace
    ) -> int | str:
        raw: object
        if self._by_expression is not None:
            raw = self._time_of(self._by_expression, document, place)
        else:
            raw = at_path(document, self._paths[self._time.field])
        return "bad_event_time" if isinstance(raw, _NoTime) else self._judged(raw, append_us)

    def _judged(self, raw: object, append_us: int | None) -> int | str:
        if self._by_expression is not None and self._by_expression.type.kind == "timestamp":
            assert raw is None or isinstance(raw, int)  # noqa: S101 - by its type
            return legal_time(self._time, raw, append_us, self._earliest)
        return read_event_time(self._time, raw, append_us, self._earliest)

    def _time_of(
        self, time: Computation, document: Mapping[str, object], place: EntryPlace
    ) -> object:
        """Return the value of the event time's expression; `_NoTime`: it has none."""
        values: dict[str, Scalar] = {}
        for name in {one.name for one in names_in(time.expression)}:
            if is_metadata(name):
                values[name] = place.value_of(name)
                continue
            raw = at_path(document, self._paths[name])
            values[name] = None if raw is None else self._scalar(self._types[name], raw)
            if values[name] is None and raw is not None:
                return _NoTime()
        try:
            return value_of(time.expression, self._all_types, values)
        except ExpressionFailure:
            return _NoTime()

    def control(
        self, raw: bytes, append_us: int | None, lane: SignedLane
    ) -> Control | RefusedControl:
        """Return the content of a control record, or why it is a dead letter.

        Arguments are those of `believed` and of `read`.
        """
        body = believed(self._control, self._founding, raw, lane)
        if body is None:
            return RefusedControl("not_allowed")
        control = read_control(body)
        if control is None:
            return RefusedControl("malformed")
        if isinstance(control, Observation):
            control = self._of_founding_lanes(control)
        if isinstance(control, Change):
            return control
        instant, rule = _instant_of(control, self._disorder), self._time
        # A bound is exclusive: it concerns only times before the instant.
        if instant is not None and instant > min(rule.max_us, LATEST):
            return RefusedControl("time_out_of_range")
        judged = None not in (instant, append_us, rule.max_ahead_us)
        if judged and instant > append_us + rule.max_ahead_us:
            return RefusedControl("time_ahead")
        return self._of_known_key(control)

    def _scalar(self, type_: FieldType, raw: object) -> Scalar:
        if type_.kind != "timestamp":
            return read_scalar(type_, raw)
        us = read_time(self._time.spelling, raw)
        return us if us is not None and self._earliest <= us < LATEST else None

    def _of_founding_lanes(self, seen: Observation) -> Observation:
        """Return a heartbeat without added lanes: it may be from before they were."""
        founding = {name: us for name, us in seen.seen_us.items() if name not in self._joined}
        return Observation(seen.now_us, founding)

    def _of_known_key(self, control: Control) -> Control:
        """Return a control record with its key parsed by type; ignore impossible keys."""
        if not isinstance(control, Bound) or control.on is None:
            return control
        if len(control.on) != 1:
            # Progress is per value of one field; ignore promises about several.
            return "ignored"
        ((name, raw),) = control.on.items()
        type_ = self._types.get(name)
        value = None if type_ is None or raw is None else self._scalar(type_, raw)
        if type_ is None or (value is None and not (raw is None and type_.nullable)):
            return "ignored"
        return Bound(control.bound_us, {name: value})


def _instant_of(control: Control, disorder: Disorder) -> int | None:
    """Return the instant that a control record claims; None: none that the generator uses."""
    if isinstance(control, Bound):
        return control.bound_us
    if isinstance(control, Observation) and isinstance(disorder, Heartbeat):
        return reached(disorder, control)
    return None


def read_scalar(type_: FieldType, raw: object) -> Scalar:
    """Return a JSON value converted to its type, or None if it does not fit.

    Args:
        type_: any but a timestamp, whose spelling is that of event times.
    """
    match type_.kind:
        case "string":
            return raw if isinstance(raw, str) else None
        case "int":
            # `type() is`, because Python's booleans are ints.
            return raw if type(raw) is int and INT64_MIN <= raw <= INT64_MAX else None
        case "bool":
            return raw if isinstance(raw, bool) else None
        case "date":
            return raw if isinstance(raw, str) and _is_day(raw) else None
        case "decimal":
            return _decimal(raw, type_.precision, type_.scale)
    if type(raw) is not int and not isinstance(raw, float | Decimal):
        return None
    try:
        number = float(raw)
    except OverflowError:
        return None
    return number + 0.0 if math.isfinite(number) else None  # -0.0 + 0.0 is 0.0


def _is_day(text: str) -> bool:
    match = _DATE.fullmatch(text)
    try:
        return match is not None and date(*map(int, match.groups())) is not None
    except ValueError:
        return False


def _decimal(raw: object, precision: int, scale: int) -> Decimal | None:
    """Count the digits of a number in units of its type's last place."""
    if isinstance(raw, str):
        if not _JSON_NUMBER.fullmatch(raw):
            return None
        raw = parse_object(f'{{"x":{raw}}}'.encode(), exact=True)["x"]  # type: ignore[index]
    if type(raw) is not int and not isinstance(raw, Decimal):
        return None
    sign, digits, exponent = Decimal(raw).as_tuple()
    written = "".join(map(str, digits)).lstrip("0")
    significant = written.rstrip("0")
    if not significant:
        return Decimal((0, (0,), -scale))
    assert isinstance(exponent, int)  # noqa: S101 - JSON has no other numbers
    places = exponent + len(written) - len(significant) + scale
    if places < 0 or len(significant) + places > precision:
        return None
    unscaled = significant + "0" * places
    return Decimal((sign, tuple(map(int, unscaled)), -scale))


def read_event_time(
    rule: EventTime, raw: object, append_us: int | None, earliest_us: int = EARLIEST
) -> int | Literal["missing_event_time", "bad_event_time", "time_out_of_range", "time_ahead"]:
    """Return the event time in microseconds, or the rejection reason."""
    if raw is None:
        return "missing_event_time"
    ts_us = read_time(rule.spelling, raw)
    return "bad_event_time" if ts_us is None else legal_time(rule, ts_us, append_us, earliest_us)


def legal_time(
    rule: EventTime, ts_us: int | None, append_us: int | None, earliest_us: int = EARLIEST
) -> int | Literal["missing_event_time", "time_out_of_range", "time_ahead"]:
    """Return an event time, or the rejection reason; None: there is none."""
    if ts_us is None:
        return "missing_event_time"
    if not (earliest_us <= ts_us < LATEST and rule.min_us <= ts_us < rule.max_us):
        return "time_out_of_range"
    if append_us is not None and rule.max_ahead_us is not None:
        return ts_us if ts_us <= append_us + rule.max_ahead_us else "time_ahead"
    return ts_us
