"""Records that a pipeline must reject, derived from one of its own good records.

Each is bad in exactly one way and otherwise like the good record, so that accepting it by mistake
gives a subtly wrong result. A candidate that the definition accepts, or rejects for another
reason, is left out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from windowing.model import Pipeline
from windowing.model.paths import parse_path
from windowing.model.source import Source
from windowing.model.times import POWERS, Spelling, TextTimes
from windowing.semantics.values import ValueReader

HUGE_BYTES: Final = 10_000_000
"""Approximate size of the largest values of `extremes`."""

_FAR_US: Final = 400 * 86_400_000_000
_UNKNOWN: Final = "slackwater_poison"
_WRONG: Final = {"int": "12", "float": "1.5", "string": 12}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class PoisonValue:
    """The value of a record that must become a dead letter.

    Attributes:
        reason: the reason that its dead letter must give.
    """

    what: str
    reason: str
    value: bytes


def poisons(pipeline: Pipeline, good: Mapping[str, Any]) -> list[PoisonValue]:
    """Make one record of each kind that this pipeline must reject.

    Args:
        pipeline: a pipeline with one source.
        good: a record that it accepts, by field.
    """
    return _refused(pipeline, _candidates(pipeline, good))


def extremes(pipeline: Pipeline, good: Mapping[str, Any]) -> list[PoisonValue]:
    """Make records too large, too deeply nested or too far away in time; see `poisons`."""
    return _refused(pipeline, _extremes(pipeline.source, good))


def _refused(pipeline: Pipeline, candidates: Iterator[PoisonValue]) -> list[PoisonValue]:
    """Select the candidates that are rejected for their own reason, one of each kind."""
    reader, now_us = ValueReader(pipeline), _now_us()
    found: dict[str, PoisonValue] = {}
    for one in candidates:
        if reader.read(one.value, now_us) == one.reason:
            found.setdefault(one.what, one)
    return [*found.values()]


def _candidates(pipeline: Pipeline, good: Mapping[str, Any]) -> Iterator[PoisonValue]:
    source, field = pipeline.source, pipeline.source.event_time.field
    text = _spelled(good)
    yield PoisonValue("the text breaks off", "malformed", text[: -len(text) // 3])
    yield PoisonValue("an array, not an object", "malformed", json.dumps([*good.values()]).encode())
    name = next((n for n, t in source.fields.items() if t.kind == "string" and n in good), field)
    yield PoisonValue("half a surrogate pair", "malformed", _spelled({**good, name: "\ud800"}))
    yield PoisonValue("no event time", "missing_event_time", _with(good, field, None))
    yield PoisonValue("an event time that is none", "bad_event_time", _with(good, field, True))
    for what, ts_us in _times_out_of_range(source):
        yield _at(source, good, what, "time_out_of_range", ts_us)
    if source.event_time.max_ahead_us is not None:
        ahead_us = _now_us() + source.event_time.max_ahead_us + _FAR_US
        yield _at(source, good, "far ahead of the broker", "time_ahead", ahead_us)
    more = {**good, _UNKNOWN: "A1"}
    yield PoisonValue("a field that nobody declared", "unknown_field", _spelled(more))
    for key in sorted(pipeline.key_fields(0)):
        yield PoisonValue("a null key", "null_key", _with(good, key, None))
    for name, type_ in source.fields.items():
        wrong = _with(good, name, _WRONG[type_.kind])
        yield PoisonValue("a value of another type", "bad_type", wrong)


def _extremes(source: Source, good: Mapping[str, Any]) -> Iterator[PoisonValue]:
    huge = _spelled({**good, _UNKNOWN: "x" * HUGE_BYTES})
    yield PoisonValue("ten megabytes in a field that nobody declared", "unknown_field", huge)
    yield PoisonValue("ten megabytes that break off", "malformed", huge[:-2])
    yield PoisonValue("a million brackets", "malformed", b"[" * 1_000_000)
    for what, ts_us in _times_out_of_range(source):
        yield _at(source, good, what, "time_out_of_range", ts_us)


def _times_out_of_range(source: Source) -> Iterator[tuple[str, int]]:
    rule = source.event_time
    yield "an event time long before all that are legal", rule.first_us - _FAR_US
    yield "an event time at which legal ones end", rule.end_us


def _at(source: Source, good: Mapping[str, Any], what: str, reason: str, ts_us: int) -> PoisonValue:
    """Make a record at another time; a time that cannot be written becomes an invalid text."""
    rule = source.event_time
    return PoisonValue(what, reason, _with(good, rule.field, _time(ts_us, rule.spelling)))


def _time(ts_us: int, spelling: Spelling) -> int | str:
    """Write a time; a text outside the years 1 to 9999 becomes an invalid one."""
    unit = spelling.unit
    if not spelling.is_text:
        return ts_us * 1_000 if unit == "ns" else -(-ts_us // 10 ** POWERS[str(unit)])
    try:
        instant = _EPOCH + timedelta(microseconds=ts_us)
        if isinstance(unit, TextTimes):
            return instant.astimezone(unit.zone.info).strftime(unit.format)
        return instant.isoformat()
    except OverflowError:
        return "beyond any calendar"


def _with(good: Mapping[str, Any], name: str, item: Any) -> bytes:
    """Spell a record that has another value at a path; without that path it is as it was."""
    changed = json.loads(json.dumps(good))
    *way, last = parse_path(name)
    inside = changed
    try:
        for step in way:
            inside = inside[step]
        inside[last] = item
    except (LookupError, TypeError):
        pass
    return _spelled(changed)


def _spelled(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _now_us() -> int:
    return time.time_ns() // 1_000
