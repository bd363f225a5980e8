"""Details of dead letters: the field, its value, and the rule that it breaks.

A lane gives only a reason, which tests compare; the detail helps people to fix the producer. It is
only computed for refused values, so valid records cost nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import polars as pl

from windowing.engine.columns import REFUSAL, TIME, field_column
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.paths import Blocked
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.steps import misfit
from windowing.engine.reading.times import is_skipped
from windowing.engine.reading.values import reading_of
from windowing.model.control import ControlRule, unsealed
from windowing.model.lengths import spell_us
from windowing.model.query import Flow
from windowing.model.times import TextTimes
from windowing.model.types import FieldType
from windowing.model.windows.window import ROW_NUM

VALUE_MAX = 200
"""The most characters shown of a value, before an ellipsis."""

DETAIL_SCHEMA = {"field": pl.String, "value": pl.String, "rule": pl.String}
"""The columns of a detail; all null for a reason that needs none."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TYPES = {
    "int": "an integer of 64 bits, without fraction or exponent",
    "float": "a number that is finite as a double",
    "string": "a text",
    "bool": "true or false",
    "date": "a date of the calendar, as YYYY-MM-DD",
}
_CONTROL = (
    'a control record is {"bound": µs}, {"bound": µs, "on": {…}}, {"now": µs, "seen": {…}}, '
    '{"end": true} or {"queries": {"add": {…}, "remove": {…}}}'
)
_CHANGE = (
    "it adds queries that the file could have, under new names, or removes some that are there"
)
_ASKED_TOO_MUCH = (
    "it adds no more than source.control permits, with classes and limits that the file has, and "
    "says the same in every partition"
)
_CHANGE_LATE = "all that its partition has had lies before from, and its progress not behind until"


class Detail(NamedTuple):
    """What was wrong; None: no detail.

    Attributes:
        value: as on the log, truncated to `VALUE_MAX` characters.
        rule: what a valid one would be.
    """

    field: str | None = None
    value: str | None = None
    rule: str | None = None


def detail(
    reason: str,
    value: bytes | None,
    control: bytes | None,
    append_us: int | None,
    rules: ValueRules,
) -> Detail:
    """Return the detail behind a refused record's reason.

    Args:
        reason: the dead letter's; for an unknown one, the whole value is shown.
        control: the bytes of its control header.
        append_us: when the broker appended it, if known.
        rules: those that refused it.
    """
    if control is not None:
        said = shown(unsealed(control).body)
        if reason == "not_allowed":
            return Detail(None, said, not_allowed(rules.gate.rule))
        wanted = _CONTROL if reason == "malformed" else _time_rule(reason, append_us, rules)
        return Detail(None, said, wanted)
    decoder = reading_of(rules).decoder
    if value is None:
        return Detail(rule=decoder.rule)
    try:
        record = decoder.exact(value)
    except BadValue:
        return Detail(None, shown(value), decoder.rule)
    find = _FINDERS.get(reason)
    if find is None:
        return Detail(None, shown(value), None)
    name, rule = find(record, append_us, rules)
    return Detail(name, _value_of(name, record, rules), rule)


def _value_of(name: str | None, record: dict[str, Any], rules: ValueRules) -> str | None:
    """Return what a value has for a name, or on the way to it; None: nothing."""
    if name in record:
        return shown(record[name])
    found = None if name not in rules.paths else rules.found(record, name)
    if isinstance(found, Blocked):
        return shown(found.by)
    return None if found is None else shown(found)


def spelled(
    reason: str,
    value: bytes | None,
    control: bytes | None,
    append_us: int | None,
    rules: ValueRules,
) -> str:
    """Return a reason and its `detail` as one text; `read_columns` parses it."""
    return json.dumps([reason, *detail(reason, value, control, append_us, rules)])


def read_columns(after_end: pl.Series) -> dict[str, pl.Expr]:
    """Return the columns `reason`, `field`, `value`, `rule` of a chunk's dead letters.

    Args:
        after_end: which of its records follow an end, whatever else is wrong with them.
    """
    whole, behind = pl.col(REFUSAL).str.json_decode(pl.List(pl.String)).list, end_columns()
    return {
        name: pl.when(after_end).then(behind[name]).otherwise(whole.get(place))
        for place, name in enumerate(behind)
    }


def end_columns() -> dict[str, pl.Expr]:
    """Return the columns `reason`, `field`, `value`, `rule` of records behind a lane's end."""
    known = {"reason": "after_end", "rule": "it stands behind the end of its partition"}
    return {name: pl.lit(known.get(name), dtype=pl.String) for name in ("reason", *DETAIL_SCHEMA)}


def change_columns() -> dict[str, pl.Expr]:
    """The columns `reason`, `field`, `value`, `rule` of changes that a lane refuses.

    They are computed from `reason` and the change's `text`.
    """
    late, asked = pl.col("reason") == "change_too_late", pl.col("reason") == "not_allowed"
    cut = pl.col("text").str.slice(0, VALUE_MAX - 1) + "…"
    return {
        "reason": pl.col("reason"),
        "field": pl.lit(None, dtype=pl.String),
        "value": pl.when(pl.col("text").str.len_chars() > VALUE_MAX).then(cut).otherwise("text"),
        "rule": pl.when(late)
        .then(pl.lit(_CHANGE_LATE))
        .when(asked)
        .then(pl.lit(_ASKED_TOO_MUCH))
        .otherwise(pl.lit(_CHANGE)),
    }


def not_allowed_again(rule: ControlRule) -> str:
    """Return, as `spelled` does, why a signed control record is not believed once more."""
    return json.dumps(["not_allowed", None, None, not_allowed(rule)])


def not_allowed(rule: ControlRule) -> str:
    """Return what a control record has to be, to be believed."""
    if rule.believe == "none":
        return "source.control: none: this pipeline believes no control records"
    kinds = "bounds, heartbeats and ends" if rule.believe == "bounds" else _ASKED_TOO_MUCH
    signed = "" if rule.key is None else f", signed with {rule.key} and a counter that rises"
    return f"source.control: {rule.believe}: {kinds}{signed}, and no longer than its limits"


def late_columns(query: Flow, data: pl.DataFrame) -> dict[str, pl.Expr]:
    """The columns of the detail of records that came too late for a query.

    The value is the windowing attribute; if the event time is not a field, the instant.

    Args:
        data: the columns of these records.
    """
    own = field_column(query.attribute)
    is_field = own in data.columns
    times = pl.Series([] if is_field else list(map(instant, data[TIME])), dtype=pl.String)
    return {
        "field": pl.lit(_late_field(query), dtype=pl.String),
        "value": pl.col(own).cast(pl.String) if is_field else pl.lit(times),
        "rule": pl.lit(_late_rule(query)),
    }


def late_detail(query: Flow, ts_us: int, fields: Mapping[str, object]) -> Detail:
    """The same of one record: its event time, and its declared fields."""
    value = fields.get(query.attribute)
    shown_as = instant(ts_us) if value is None else str(value)
    return Detail(_late_field(query), shown_as, _late_rule(query))


def _late_field(query: Flow) -> str | None:
    attribute = query.attribute
    return None if attribute == ROW_NUM else attribute


def _late_rule(query: Flow) -> str:
    if query.late.policy != "update":
        return "its window had ended by the progress of its own partition"
    kept, every = query.retention_us or 0, query.late.every
    length = spell_us(kept) if every is None or every.timed else str(kept)
    return f"it is taken up to {length} after its window's end, by its own partition's progress"


def shown(value: object) -> str:
    """Return a value as on the log: printable text, truncated to `VALUE_MAX`."""
    if isinstance(value, bytes):
        value = value[: 4 * VALUE_MAX]  # a character has four bytes at the most
        text = value.decode("utf-8", "backslashreplace")
    elif isinstance(value, Decimal):
        text = str(value)
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= VALUE_MAX else text[: VALUE_MAX - 1] + "…"


_Found = tuple[str | None, str | None]
"""A field, and the rule that it breaks."""


def _missing(_: dict[str, Any], __: int | None, rules: ValueRules) -> _Found:
    return rules.event_time.field, "the event time is there, and not null"


def _no_time(record: dict[str, Any], _: int | None, rules: ValueRules) -> _Found:
    name, spelling = rules.event_time.field, rules.event_time.spelling
    if rules.time is not None:
        return name, f"{rules.time.text} has a value, of fields of their types"
    if not isinstance(spelling.unit, TextTimes):
        return name, spelling.rule
    sent = record[name] if name in record else rules.found(record, name)
    skipped = isinstance(sent, str) and is_skipped(sent, spelling.unit)
    return name, spelling.unit.rule_of_zone if skipped else spelling.unit.rule


def _time(reason: str) -> Callable[[dict[str, Any], int | None, ValueRules], _Found]:
    def found(_: dict[str, Any], append_us: int | None, rules: ValueRules) -> _Found:
        return rules.event_time.field, _time_rule(reason, append_us, rules)

    return found


def _unknown(record: dict[str, Any], _: int | None, rules: ValueRules) -> _Found:
    name = next((name for name in record if not rules.known(name)), None)
    return name, "declared under source.fields, unless source.unknown_fields: ignore"


def _null_key(record: dict[str, Any], _: int | None, rules: ValueRules) -> _Found:
    never = (name for name in sorted(rules.key_fields) if not rules.fields[name].nullable)
    name = next((name for name in never if rules.found(record, name) is None), None)
    return name, "a query groups by it, so null needs a `?` behind its type"


def _bad_type(record: dict[str, Any], _: int | None, rules: ValueRules) -> _Found:
    name = misfit(record, rules)
    if name is None:
        return None, None
    type_ = rules.fields[name]
    place = ", within what windows can lie over" if name in rules.placed_by else ""
    null = " or null" if type_.nullable else ", never null"
    return name, f"{_rule_of(type_, rules)}{null}{place}"


def _rule_of(type_: FieldType, rules: ValueRules) -> str:
    if type_.kind == "decimal":
        whole, places = type_.precision - type_.scale, type_.scale
        return (
            f"a number, or a text of one, of up to {whole} digits before and {places} after the "
            "point"
        )
    if type_.kind == "timestamp":
        return f"a time spelled as event times are ({rules.event_time.spelling.rule})"
    return _TYPES[type_.kind]


_FINDERS: dict[str, Callable[[dict[str, Any], int | None, ValueRules], _Found]] = {
    "missing_event_time": _missing,
    "bad_event_time": _no_time,
    "time_out_of_range": _time("time_out_of_range"),
    "time_ahead": _time("time_ahead"),
    "unknown_field": _unknown,
    "null_key": _null_key,
    "bad_type": _bad_type,
}


def _time_rule(reason: str, append_us: int | None, rules: ValueRules) -> str:
    rule = rules.event_time
    if reason == "time_ahead" and rule.max_ahead_us is not None:
        appended = "" if append_us is None else f", {instant(append_us)}"
        return f"at most {spell_us(rule.max_ahead_us)} behind its appending{appended}"
    return f"{instant(rules.first_us)} <= time < {instant(rule.end_us)}"


def instant(us: int) -> str:
    """Return an instant as ISO time, or as microseconds outside the calendar."""
    try:
        return (_EPOCH + timedelta(microseconds=us)).isoformat()
    except OverflowError:
        return f"{us} µs"
