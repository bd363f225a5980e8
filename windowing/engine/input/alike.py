"""Fast decoding of values that look alike: one regular expression reads them all, by column.

The values of a topic are mostly written by one program, with the same fields in the same order. An
expression made from one of them matches only values that `windowing.engine.input.values` accepts,
and captures what that would read: integers of up to 18 digits, text without escapes, finite
numbers. Values that it does not match are not judged here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache

import polars as pl

from windowing.engine.columns import TIME, field_column
from windowing.engine.input.decode import DTYPES
from windowing.engine.input.values import UNIT_US, ValueRules
from windowing.model.lengths import INT64_MAX
from windowing.model.limits import LATEST

_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_TEXT = r'[^"\\\x00-\x1f]*'
_PATTERNS = {"int": "(-?(?:0|[1-9][0-9]{0,17}))", "float": f"({_NUMBER})", "string": f'"({_TEXT})"'}
_ISO = (
    '"([0-9]{4}-[01][0-9]-[0-3][0-9]T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])'
    r'(?:\.([0-9]{1,6}))?Z?"'
)
_IGNORED = f'(?:null|true|false|{_NUMBER}|"{_TEXT}")'
# Characters that mean something in an expression.
_SPECIAL = re.compile(r"[][\\.+*?(){}|^$#&~ -]")

# Texts have no year 0; polars would read one.
_YEAR_1_US = -62_135_596_800_000_000

# Fewer values are not worth an expression.
_ENOUGH = 256
_SAMPLES, _SHARE = 32, 0.75
_INSTANT, _FRACTION, _APPENDED, _MATCHED = "_instant", "_fraction", "_appended", "_matched"


@dataclass(frozen=True)
class Alike:
    """What an expression has read.

    Attributes:
        matched: of each value, whether it was read.
        columns: of those that were, `ts_us` and a column for each declared field.
    """

    matched: pl.Series
    columns: pl.DataFrame


def decode_alike(values: pl.Series, append_us: pl.Series, rules: ValueRules) -> Alike | None:
    """Decode the values that look like most of them; None if too few do.

    Args:
        values: the bytes on the log.
        append_us: the broker's append time of each, or null if unknown.
        rules: of the pipeline.
    """
    if len(values) < _ENOUGH:
        return None
    text = _text(values)
    sample = text.gather_every(len(text) // _SAMPLES)
    names = next((names for value in sample if (names := _names(value, rules))), None)
    if names is None:
        return None
    like = sample.str.contains(_expression(rules, names)).sum()
    if like < _SHARE * len(sample):
        return None
    read = _read(text, append_us, rules, names)
    matched, columns = read[_MATCHED], read.drop(_MATCHED)
    return Alike(matched, columns if matched.all() else columns.filter(matched))


def _text(values: pl.Series) -> pl.Series:
    """Return values as text; null where they are not UTF-8."""
    try:
        return values.cast(pl.String)
    except pl.exceptions.PolarsError:
        return pl.Series(map(_text_of, values), dtype=pl.String)


def _text_of(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _names(value: str | None, rules: ValueRules) -> tuple[str, ...] | None:
    """Return the names of a value's fields, in its order; None: no expression can be made."""
    try:
        record = json.loads(value or "")
    except (ValueError, RecursionError):
        return None
    time = rules.event_time
    if not isinstance(record, dict) or time.field not in record:
        return None
    if time.field in rules.fields and (time.unit == "iso" or rules.fields[time.field][0] != "int"):
        return None
    absent = rules.fields.keys() - record.keys()
    unknown = [name for name in record if not rules.known(name)]
    if not all(rules.fields[name][1] for name in absent) or (unknown and not rules.ignore_unknown):
        return None
    return tuple(record) if all(re.fullmatch(_TEXT, name) for name in record) else None


@lru_cache(maxsize=64)
def _expression(rules: ValueRules, names: tuple[str, ...]) -> str:
    """Return an expression that matches values with these fields, with a group for each."""
    members = (f'"{_literal(name)}": ?{_pattern(rules, name)}' for name in names)
    return rf"\A\{{{', ?'.join(members)}\}}\z"


def _literal(name: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", name)


def _pattern(rules: ValueRules, name: str) -> str:
    if name == rules.event_time.field:
        return _ISO if rules.event_time.unit == "iso" else _PATTERNS["int"]
    if name not in rules.fields:
        return _IGNORED
    kind, nullable = rules.fields[name]
    return f"(?:null|{_PATTERNS[kind]})" if nullable else _PATTERNS[kind]


def _read(
    text: pl.Series, append_us: pl.Series, rules: ValueRules, names: tuple[str, ...]
) -> pl.DataFrame:
    """Return the columns of the values, and whether the expression and the rules allow each."""
    groups = text.str.extract_groups(_expression(rules, names)).struct.unnest()
    groups.columns = _groups(rules, names)
    read = groups.select(
        _instant(rules).alias(_INSTANT),
        append_us.cast(pl.Int64).alias(_APPENDED),
        *(_field(rules, name, there=name in names) for name in rules.fields),
    )
    unit_us = UNIT_US.get(rules.event_time.unit, 1)
    return read.select(
        (pl.col(_INSTANT) * unit_us).alias(TIME),
        *map(field_column, rules.fields),
        pl.all_horizontal(_legal_time(rules, unit_us), *_legal_fields(rules)).alias(_MATCHED),
    )


def _groups(rules: ValueRules, names: tuple[str, ...]) -> list[str]:
    """Return the columns of an expression's groups."""
    time, found = rules.event_time, list[str]()
    for name in names:
        if name == time.field:
            found += [_INSTANT, _FRACTION] if time.unit == "iso" else [_INSTANT]
        elif name in rules.fields:
            found.append(field_column(name))
    return found


def _instant(rules: ValueRules) -> pl.Expr:
    """Return the event time in the file's unit, or of ISO texts in microseconds."""
    if rules.event_time.unit != "iso":
        return pl.col(_INSTANT).cast(pl.Int64)
    seconds = pl.col(_INSTANT).str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="us")
    fraction = pl.col(_FRACTION).fill_null("0").str.pad_end(6, "0").cast(pl.Int64)
    return seconds.cast(pl.Int64) + fraction


def _field(rules: ValueRules, name: str, *, there: bool) -> pl.Expr:
    """Return a declared field's column; null where the values leave it out."""
    own = field_column(name)
    if name == rules.event_time.field:
        return pl.col(_INSTANT).cast(pl.Int64).alias(own)
    match rules.fields[name][0] if there else None:
        case "int":
            return pl.col(own).cast(pl.Int64)
        case "float":
            number = pl.col(own).cast(pl.Float64)
            # There is one zero.
            return pl.when(number == 0).then(0.0).otherwise(number).alias(own)
        case "string":
            return pl.col(own)
    return pl.lit(None, dtype=DTYPES[rules.fields[name][0]]).alias(own)


def _legal_time(rules: ValueRules, unit_us: int) -> pl.Expr:
    """Return which event times are legal, compared in their own unit, so that nothing overflows."""
    time, instant = rules.event_time, pl.col(_INSTANT)
    first_us = max(rules.first_us, _YEAR_1_US) if time.unit == "iso" else rules.first_us
    legal = instant.is_between(-(-first_us // unit_us), (time.end_us - 1) // unit_us)
    if time.max_ahead_us is not None:
        latest = pl.col(_APPENDED).clip(upper_bound=INT64_MAX - time.max_ahead_us)
        ahead = instant * unit_us > latest + time.max_ahead_us
        legal &= ahead.fill_null(value=False).not_()
    return legal.fill_null(value=False)


def _legal_fields(rules: ValueRules) -> list[pl.Expr]:
    """Return which values of fields are legal, for each field that has limits."""
    legal = []
    for name, (kind, _) in rules.fields.items():
        own = pl.col(field_column(name))
        if kind == "float":
            legal.append(own.is_finite().fill_null(value=True))
        if name in rules.placed_by:
            legal.append(own.is_between(rules.earliest, LATEST, closed="left"))
    return legal
