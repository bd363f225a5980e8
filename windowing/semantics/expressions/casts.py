"""Casts, from kind to kind."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from windowing.model.rows import Scalar
from windowing.model.types import FieldType, Kind
from windowing.semantics.expressions.failure import ExpressionFailure
from windowing.semantics.expressions.numbers import decimal, half_away, nearest, whole
from windowing.semantics.expressions.times import moment_of
from windowing.semantics.times import read_iso

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MIDNIGHT = "T00:00:00+00:00"
_EPOCH = datetime.fromisoformat("1970-01-01" + _MIDNIGHT)
_FAR_BELOW = -400
"""A number below 10 to this power is zero for every kind, and none rounds up to 10^-38."""


def cast(value: int | float | str | bool | Decimal, kind: Kind, to: FieldType) -> Scalar:
    """Return a value of one kind as one of another."""
    if to.kind == kind != "decimal":
        return value
    if isinstance(value, str):
        return _of_date(value, to) if kind == "date" else _of_text(value, to)
    if isinstance(value, bool):
        return int(value) if to.kind == "int" else str(value).lower()
    if kind == "timestamp":
        assert isinstance(value, int)  # noqa: S101 - timestamps are
        return _of_timestamp(value, to)
    return _of_number(value, to)


def _of_number(value: int | float | Decimal, to: FieldType) -> Scalar:
    if to.kind == "decimal":
        return decimal(Fraction(value), to.scale, to.precision)
    if to.kind == "float":
        return nearest(value)
    if to.kind in ("int", "timestamp"):
        return whole(half_away(Fraction(value)))
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _of_text(text: str, to: FieldType) -> Scalar:
    if to.kind == "bool" and text in ("true", "false"):
        return text == "true"
    if to.kind == "int" and _INTEGER.fullmatch(text):
        return whole(int(text))
    if to.kind == "float" and _NUMBER.fullmatch(text):
        return nearest(float(text))
    if to.kind == "decimal" and (match := _NUMBER.fullmatch(text)):
        return decimal(_exact(match), to.scale, to.precision)
    if to.kind == "date" and _DAY.fullmatch(text) and _is_day(text):
        return text
    if to.kind == "timestamp" and (us := read_iso(text)) is not None:
        return us
    raise ExpressionFailure(f"{text!r} is no {to.kind}")


def _exact(match: re.Match[str]) -> Fraction:
    """Return the number that a text spells, without making one of a billion digits."""
    sign, before, after, exponent = match.groups()
    digits = (before + (after or "")).lstrip("0")
    # Of an exponent, its first digits tell that it is far too large.
    size = int((exponent or "0").lstrip("+-").lstrip("0")[:12] or "0")
    power = (-size if (exponent or "").startswith("-") else size) - len(after or "")
    if not digits or len(digits) + power < _FAR_BELOW:
        return Fraction(0)
    if len(digits) + power > -_FAR_BELOW:
        raise ExpressionFailure("more than 38 digits")
    return Fraction(Decimal(sign + digits)) * Fraction(10) ** power


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _of_date(text: str, to: FieldType) -> Scalar:
    if to.kind == "string":
        return text
    return (datetime.fromisoformat(text + _MIDNIGHT) - _EPOCH) // timedelta(microseconds=1)


def _of_timestamp(us: int, to: FieldType) -> Scalar:
    if to.kind == "int":
        return us
    moment = moment_of(us).replace(tzinfo=None)
    if to.kind == "date":
        return moment.date().isoformat()
    return moment.isoformat(timespec="microseconds") + "Z"
