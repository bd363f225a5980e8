"""What to do about dead letters, by their reason, and by what was refused."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import replace
from typing import Any, Final

from windowing.engine.reading.times import is_skipped
from windowing.model.computed import BAD_EXPRESSION, CAST, OVERFLOW, SUBSTR, YEARS, ZERO
from windowing.model.lengths import INT64_MAX, INT64_MIN, spell_instant
from windowing.model.limits import fitting_unit
from windowing.model.paths import spelled
from windowing.model.source import Source
from windowing.model.times import FRACTIONAL, Spelling, TextTimes
from windowing.model.types import FieldType

_WAYS_OUT = {
    "change_too_late": "write the change with a later `from` or `until`, into every partition",
    "not_allowed": "a control record that source.control does not believe: find out who writes it; "
    "believe more (all), or sign it, if it is yours",
    "after_end": "nothing may follow an end record: write to a new topic or partition",
    "malformed": "the producer sends something else than a JSON object, or a control record that "
    "is none; `slackwater record` gives you the record",
    "missing_event_time": "let the producer set the event time, or name another field under "
    "source.event_time",
    "bad_event_time": "let the producer send the unit that source.event_time names, or name its "
    "unit there",
    "time_out_of_range": "look at the producer's clock and unit, or move source.event_time.min and "
    "max",
    "time_ahead": "look at the producer's clock, or allow more under source.event_time.max_ahead",
    "unknown_field": "declare the field under source.fields, or pass over all such by "
    "source.unknown_fields: ignore",
    "null_key": "let the producer set it, or put a ? behind its type: null is a key then",
    "bad_type": "let the producer send the declared type, or declare what it sends (? allows null)",
    "bad_expression": "an expression has no value for it: guard it, as CASE WHEN q <> 0 THEN v / q "
    "END, or let the producer send other values",
    "late": "allow more disorder (`slackwater tune` shows the cost), or take late records by "
    "late: {policy: update}",
    "out_of_retention": "allow more disorder (`slackwater tune`), or a longer retention",
}

_BY_CAUSE: Final = {
    ZERO: "guard it, as CASE WHEN q <> 0 THEN v / q END, which is null for it",
    OVERFLOW: "cast an operand to a type with more room, as cast(v AS decimal(38,0)) or float, or "
    "let the producer send smaller numbers",
    CAST: "cast only what has the form, as CASE WHEN s LIKE '20__-__-__' THEN cast(s AS date) END, "
    "or let the producer send it",
    YEARS: "refuse such times by source.event_time.min and max, or by a CASE around it",
    SUBSTR: "substr counts from 1: guard it by a CASE, or let the producer send other values",
}


def way_out(
    reason: str,
    field: str | None = None,
    value: str | None = None,
    source: Source | None = None,
    *,
    rule: str | None = None,
) -> str:
    """Return what to do about dead letters with a reason.

    Args:
        reason: theirs.
        field, value: of one of them, as in the detail of a dead letter; None: unknown, of a named
            field's value: absent.
        source: what refused it; None: unknown.
        rule: of the same one, as in its detail.
    """
    if reason.startswith("rule:"):
        return f"the rule {reason.removeprefix('rule:')} of source.rules does not hold for it"
    if reason.startswith("refused_by:"):
        name = reason.removeprefix("refused_by:")
        do = "mend it at its producer, or the class"
        return f"the class of aggregate {name} refuses its value: {do}"
    general = _WAYS_OUT.get(reason, "look at the record: `slackwater record` gives it to you")
    if reason == BAD_EXPRESSION:
        cause = (rule or "").rpartition("; here: ")[2]
        return next((do for begin, do in _BY_CAUSE.items() if cause.startswith(begin)), general)
    if source is None or field is None:
        return general
    return _by_value(reason, field, value, source) or general


def _by_value(reason: str, field: str, value: str | None, source: Source) -> str | None:
    """Return what fits the refused value; None: nothing in particular does."""
    if reason == "unknown_field":
        if (path := spelled((field,))) != field:
            return (
                f"its name has a dot, a bracket or a quotation mark: declare it as '{path}' under "
                "source.fields, or pass over all such by source.unknown_fields: ignore"
            )
        near = difflib.get_close_matches(field, source.declared, n=1)
        known = ", ".join([source.event_time.field, *source.declared])
        hint = f" (is {near[0]} meant?)" if near else f" (known: {known})"
        return f"{_WAYS_OUT[reason]}{hint}"
    if reason == "bad_type" and value is None and field in source.fields:
        return f"it is absent: a ? behind the type allows that: '{source.fields[field]}?'"
    try:
        sent = json.loads(value or "")
    except ValueError:  # it was cut
        return None
    if reason == "bad_type" and field in source.fields:
        return _of_type(replace(source.fields[field], nullable=False), sent)
    if reason == "bad_event_time":
        return _of_time(sent, source.event_time.spelling)
    if reason in ("time_out_of_range", "time_ahead") and type(sent) is int:
        unit = fitting_unit(source.event_time.spelling.name, sent)
        limits = {"min", "max"} if reason == "time_out_of_range" else {"max_ahead"}
        names = " and ".join(
            name
            for name in ("min", "max", "max_ahead")
            if name in limits and f"{name}_us" in source.event_time.model_fields_set
        )
        move = f", or move source.event_time.{names}" if names else ""
        return None if unit is None else f"{_meant(unit)}{move}"
    return None


_SPELLED: Final = {
    "bool": "only true and false are bools: declare it string, or let the producer send them",
    "decimal": "declare more digits, up to 38, or let the producer send a number, or a text of one",
    "date": "let the producer send YYYY-MM-DD, or declare it string",
    "timestamp": "let the producer send it as it sends event times, or declare it int or string",
}


def _of_type(type_: FieldType, sent: Any) -> str | None:
    kind = type_.kind
    if sent is None:
        return f"null is allowed by a ? behind the type: '{type_}?'"
    if isinstance(sent, bool):
        return f"true and false are no {kind}: declare it bool"
    if kind in _SPELLED:
        return _SPELLED[kind]
    if isinstance(sent, dict | list):
        return "it is an object or a list: declare what is inside by its path, as 'card.country'"
    if isinstance(sent, str):
        return f"it is a text: declare it string, or let the producer send a number ({kind})"
    if kind == "string":
        return "it is a number: declare it int or float, or let the producer send a text"
    if isinstance(sent, int) and not INT64_MIN <= sent <= INT64_MAX:
        return "it is beyond 64 bits: declare it float, or let the producer send a text"
    if kind == "int":
        return "it has a fraction or an exponent: declare it float, or send an integer"
    return None


_ISO: Final = re.compile(
    r"(?P<date>\d{4}-?\d\d-?\d\d)(?:(?P<t>[Tt ])(?P<clock>\d\d:?\d\d)(?P<seconds>:?\d\d)?"
    r"(?P<fraction>[.,]\d+)?(?P<zone>\s*(?:[Zz]|[+-]\d\d(?::?\d\d)?|[A-Za-z/_]+))?)?\s*",
    re.ASCII,
)


def _of_time(sent: Any, spelling: Spelling) -> str | None:
    unit = spelling.name
    if isinstance(sent, bool | dict | list):
        return "it is neither a number nor a text: name the field that has the time"
    if not spelling.is_text:
        if isinstance(sent, str):
            if _ISO.fullmatch(sent):
                return "it is a text: name its unit, as event_time: {unit: iso}"
            return f"it is a text: let the producer send the number itself, in {unit}"
        if unit in FRACTIONAL:
            return f"it has a fraction: take it by event_time: {{unit: {unit}, fraction: true}}"
        return f"it has a fraction or an exponent: let the producer send an integer, in {unit}"
    if isinstance(sent, int | float):
        fits = fitting_unit(unit, int(sent)) or "s, ms or us"
        return f"it is a number: name its unit, as event_time: {{unit: {fits}}}"
    if isinstance(spelling.unit, TextTimes):
        if is_skipped(sent, spelling.unit):
            return (
                f"clocks in {spelling.unit.zone} skip it, in spring: let the producer send times "
                "of UTC, or each with its offset (%z)"
            )
        return "name the producer's own format, as event_time: {unit: {text: …}}, or mend it there"
    found = _ISO.fullmatch(sent) if isinstance(sent, str) else None
    return None if found is None else _of_iso(found)


def _of_iso(found: re.Match[str]) -> str | None:
    """Return what of the spelling of a time is not taken."""
    zone = (found["zone"] or "").strip()
    odd = {
        "it has the date alone": found["t"] is None,
        "its date or clock has no separators": "-" not in found["date"]
        or ":" not in (found["clock"] or ":"),
        "its fraction begins with a comma": (found["fraction"] or "").startswith(","),
        "its fraction has more than twelve digits": len(found["fraction"] or "") > 13,
        "its zone is a name": bool(zone) and not re.fullmatch(r"[Zz]|[+-][\d:]+", zone),
        "it has blanks": found[0] != found[0].strip() or (found["zone"] or "") != zone,
    }
    said = [what for what, holds in odd.items() if holds]
    if not said:
        return "there is no such time: let the producer send one that the calendar has"
    taken = (
        "2026-03-02T09:00:00, then . and up to twelve digits or nothing, then Z, +01:00 or nothing"
    )
    return f"{' and '.join(said)}: what is taken is {taken}"


def _meant(unit: str) -> str:
    """Return what to do about times in another unit."""
    return f"the unit that fits is {unit}: event_time: {{unit: {unit}}}"


def of_times(unit: str, least_us: int, greatest_us: int, written: tuple[int, int] | None) -> str:
    """Return what to do about event times that are implausible.

    Args:
        unit: the source's.
        least_us, greatest_us: the extremes of those that are.
        written: the same as on the log; None: they are texts.
    """
    fits = None if written is None else fitting_unit(unit, *written)
    if fits is not None:
        return _meant(fits)
    what = f"{spell_instant(least_us)} to {spell_instant(greatest_us)}"
    return f"look at the producer's clock, and refuse {what} by source.event_time.min and max"
