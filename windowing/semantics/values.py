"""From the bytes of a value to a record, or the reason why it is none.

The order of the reasons is part of the contract: the first that applies is the one reported.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NoReturn

from windowing.semantics.log import Bound, Control
from windowing.spec.fields import Kind
from windowing.spec.lengths import INT64_MAX, INT64_MIN
from windowing.spec.pipeline import EventTime, Pipeline
from windowing.spec.rows import Scalar

Reason = Literal[
    "malformed",
    "missing_event_time",
    "bad_event_time",
    "time_out_of_range",
    "time_ahead",
    "unknown_field",
    "null_key",
    "bad_type",
]

DEPTH_MAX = 512
"""Objects and arrays may nest this deep; a value that nests deeper is malformed."""

_US_PER_UNIT = {"us": 1, "ms": 1_000, "s": 1_000_000}
_ISO = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
# Python refuses to convert very long digit strings; all that matters of one is that it is beyond
# every type.
_DIGITS_MAX = 400
_BEYOND: int = 10**_DIGITS_MAX


@dataclass(frozen=True, slots=True)
class Record:
    """A good value.

    Attributes:
        ts_us: event time, microseconds since 1970.
        fields: the declared fields; absent ones are None.
    """

    ts_us: int
    fields: dict[str, Scalar]


class ValueReader:
    """Reads the values of one pipeline's source.

    Args:
        pipeline: the pipeline.
        number: whose lane's; only lanes of a join's two sides differ.
    """

    def __init__(self, pipeline: Pipeline, number: int = 0) -> None:
        source, _ = pipeline.source.place(number)
        self._time = source.event_time
        self._types = source.fields
        self._known = {*source.fields, source.event_time.field}
        self._ignore_unknown = source.unknown_fields == "ignore"
        grouping = pipeline.key_fields(number)
        self._never_null = {name for name in grouping if not source.fields[name].nullable}

    def read(self, value: bytes | None, append_us: int | None) -> Record | Reason:
        """Return the record, or the first reason why the value is none.

        Args:
            value: the bytes; None is a null value.
            append_us: when the broker appended it, or None; then `max_ahead` is not judged.
        """
        document = parse_object(value)
        if document is None:
            return "malformed"
        ts_us = read_event_time(self._time, document.get(self._time.field), append_us)
        if isinstance(ts_us, str):
            return ts_us
        if not self._ignore_unknown and any(name not in self._known for name in document):
            return "unknown_field"
        if any(document.get(name) is None for name in self._never_null):
            return "null_key"
        fields: dict[str, Scalar] = {}
        for name, type_ in self._types.items():
            raw = document.get(name)
            fields[name] = None if raw is None else read_scalar(type_.kind, raw)
            if fields[name] is None and not (raw is None and type_.nullable):
                return "bad_type"
        return Record(ts_us, fields)

    def control(self, control: Control) -> Control:
        """A control record, its key read as the field's type; ignored if no record can have it."""
        if not isinstance(control, Bound) or control.on is None:
            return control
        name, raw = control.on
        type_ = self._types.get(name)
        value = None if type_ is None or raw is None else read_scalar(type_.kind, raw)
        if type_ is None or (value is None and not (raw is None and type_.nullable)):
            return "ignored"
        return Bound(control.bound_us, (name, value))


def read_scalar(kind: Kind, raw: object) -> Scalar:
    """Return a JSON value as its type has it, or None where it does not fit."""
    if kind == "string":
        return raw if isinstance(raw, str) else None
    if kind == "int":
        # `type() is`: a boolean is an int to Python, and not to us.
        return raw if type(raw) is int and INT64_MIN <= raw <= INT64_MAX else None
    if type(raw) is not int and type(raw) is not float:
        return None
    try:
        number = float(raw)
    except OverflowError:
        return None
    return number + 0.0 if math.isfinite(number) else None  # -0.0 + 0.0 is 0.0


def read_event_time(
    rule: EventTime, raw: object, append_us: int | None
) -> int | Literal["missing_event_time", "bad_event_time", "time_out_of_range", "time_ahead"]:
    """Return the event time in microseconds, or why there is none."""
    if raw is None:
        return "missing_event_time"
    if rule.unit == "iso":
        ts_us = read_iso(raw) if isinstance(raw, str) else None
    else:
        ts_us = raw * _US_PER_UNIT[rule.unit] if type(raw) is int else None
    if ts_us is None:
        return "bad_event_time"
    if not (INT64_MIN <= ts_us <= INT64_MAX and rule.min_us <= ts_us < rule.max_us):
        return "time_out_of_range"
    if append_us is not None and rule.max_ahead_us is not None:
        return ts_us if ts_us <= append_us + rule.max_ahead_us else "time_ahead"
    return ts_us


def read_iso(text: str) -> int | None:
    """Return `YYYY-MM-DDTHH:MM:SS[.ffffff][Z|±HH:MM]` in microseconds, or None."""
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    *calendar, fraction, sign, hours, minutes = match.groups()
    try:
        moment = datetime(*map(int, calendar), tzinfo=UTC)  # type: ignore[arg-type,misc]
    except ValueError:
        return None  # no such day, or hour 24, or second 60
    local_us = (moment - _EPOCH) // timedelta(microseconds=1)
    local_us += int((fraction or "0").ljust(6, "0"))
    if sign is None:
        return local_us
    if int(hours) > 23 or int(minutes) > 59:
        return None
    offset_us: int = (int(hours) * 60 + int(minutes)) * 60_000_000
    return local_us - offset_us if sign == "+" else local_us + offset_us


def parse_object(value: bytes | None) -> dict[str, Any] | None:
    """Return a JSON object, or None where the bytes are anything else.

    A name given twice keeps its last value. Not JSON: NaN and infinities, a lone surrogate
    anywhere, a byte order mark, text that is not UTF-8, and nesting beyond `DEPTH_MAX`.
    """
    try:
        text = (value or b"").decode("utf-8")
        if _depth(text) > DEPTH_MAX:
            return None
        document = (_CAREFUL if "\\u" in text else _PLAIN).decode(text)
    except ValueError:  # UnicodeDecodeError and JSONDecodeError are both of this kind
        return None
    return document if isinstance(document, dict) else None


def _depth(text: str) -> int:
    """The greatest depth of brackets outside strings, or any number below it if that is small."""
    if text.count("{") + text.count("[") <= DEPTH_MAX:
        return 0
    depth = deepest = 0
    for mark in _STRINGS.sub("", text):
        if mark in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in "}]":
            depth -= 1
    return deepest


def _int(digits: str) -> int:
    if len(digits) <= _DIGITS_MAX:
        return int(digits)
    return -_BEYOND if digits.startswith("-") else _BEYOND


def _no_constant(name: str) -> NoReturn:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object after a look at every string in it, those of overwritten names too."""
    _refuse_lone_surrogates(pairs)
    return dict(pairs)


def _refuse_lone_surrogates(parts: Iterable[object]) -> None:
    for part in parts:
        if isinstance(part, str) and _SURROGATE.search(part):
            msg = "a lone surrogate is not text"
            raise ValueError(msg)
        if isinstance(part, list | tuple):
            _refuse_lone_surrogates(part)


_PLAIN = json.JSONDecoder(parse_int=_int, parse_constant=_no_constant)
_CAREFUL = json.JSONDecoder(parse_int=_int, parse_constant=_no_constant, object_pairs_hook=_object)
