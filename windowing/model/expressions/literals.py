"""Literals of expressions: numbers, dates, instants, intervals."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from windowing.model.errors import cut, meant, shown
from windowing.model.expressions.functions import INTERVAL_UNITS
from windowing.model.expressions.tree import Constant
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.types import PRECISION_MAX, FieldType

_NUMBER = re.compile(r"([0-9]+)(?:\.([0-9]+))?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INTERVAL = re.compile(r" *([0-9]{1,15}) +([A-Za-z]+) *")
_INSTANT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,12}))?)?"
    r"(?:[Zz]|([+-])([0-9]{2})(?::?([0-9]{2}))?)?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def number(text: str, at: int, *, negative: bool = False) -> Constant:
    """Return a number: `12` is an int, `1.50` a decimal of its own digits.

    Raises:
        ValueError: another spelling, an int beyond 64 bits, a decimal of more than 38 digits.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        msg = f"{text} is not a number: write 12 or 0.5; a float is written cast(0.5 AS float)"
        raise ValueError(msg)
    whole, fraction = match[1].lstrip("0"), match[2]
    precision = max(len(whole) + len(fraction or ""), 1)
    if precision > PRECISION_MAX:
        msg = f"{cut(text, 50)} has {precision} digits: a number has at most {PRECISION_MAX}"
        raise ValueError(msg)
    if fraction is None:
        value = -int(whole or "0") if negative else int(whole or "0")
        if not INT64_MIN <= value <= INT64_MAX:
            msg = (
                f"{shown(value)} is beyond 64 bits: a decimal is written with a point, as {value}.0"
            )
            raise ValueError(msg)
        return Constant(value, FieldType("int"), at)
    exact = Decimal(f"{whole or 0}.{fraction}")
    value_type = FieldType("decimal", precision=precision, scale=len(fraction))
    return Constant(-exact if negative and exact else exact, value_type, at)


def date_literal(text: str, at: int) -> Constant:
    """Return `DATE '2026-01-31'`.

    Raises:
        ValueError: no such day, or another spelling.
    """
    try:
        if _DATE.fullmatch(text):
            date.fromisoformat(text)
            return Constant(text, FieldType("date"), at)
    except ValueError:
        pass
    msg = f"{shown(text)} is not a date: write a day of the calendar, as DATE '2026-01-31'"
    raise ValueError(msg)


def timestamp_literal(text: str, at: int) -> Constant:
    """Return `TIMESTAMP '2026-01-31T12:00:00Z'`, spelled as event times of unit iso; UTC.

    Raises:
        ValueError: no such time, or another spelling.
    """
    match = _INSTANT.fullmatch(text)
    if match is not None:
        day, hour, minute, second, fraction, sign, hours, minutes = match.groups()
        try:
            moment = datetime.fromisoformat(f"{day}T{hour}:{minute}:{second or '00'}+00:00")
        except ValueError:
            moment = None  # no such day, or hour 24, or second 60
        offset = int(hours or 0) * 60 + int(minutes or 0)
        if moment is not None and int(hours or 0) < 24 and int(minutes or 0) < 60:
            us = (moment - _EPOCH) // timedelta(microseconds=1)
            us += int((fraction or "").ljust(6, "0")[:6])
            us -= (-offset if sign == "-" else offset) * 60_000_000
            return Constant(us, FieldType("timestamp"), at)
    msg = f"{shown(text)} is not an instant: write TIMESTAMP '2026-01-31T12:00:00Z'"
    raise ValueError(msg)


def interval_us(text: str) -> int:
    """Return the length of `INTERVAL '3 days'` in microseconds.

    Raises:
        ValueError: not a whole number with a unit from second to week, or too long.
    """
    match = _INTERVAL.fullmatch(text)
    unit = match[2].lower().removesuffix("s") if match else None
    if match is None or unit not in INTERVAL_UNITS:
        hint = meant(unit, INTERVAL_UNITS) if unit else ""
        units = ", ".join(INTERVAL_UNITS)
        msg = (
            f"{shown(text)} is not an interval{hint or ':'} write a whole number and one of {units}"
        )
        msg += " (months and years differ in length), as INTERVAL '3 days'"
        raise ValueError(msg)
    length = int(match[1]) * INTERVAL_UNITS[unit]
    if length > INT64_MAX:
        msg = f"{shown(text)} is too long: at most {INT64_MAX} microseconds"
        raise ValueError(msg)
    return length
