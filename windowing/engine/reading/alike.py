"""Fast decoding of values that look alike: they are read by column, without a record of each.

The values of a topic are mostly written by one program, with the same fields in the same order. One
of them tells the shape. Only values that `windowing.engine.reading.values` accepts are of it, and
what is read of them is what that would read: integers of up to 18 digits, text without escapes,
finite numbers. Values of other shapes are not judged here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import polars as pl

from windowing.engine.columns import TIME, WRITTEN_TIME, field_column
from windowing.engine.reading.decode import DTYPES
from windowing.engine.reading.values import UNIT_US, ValueRules
from windowing.engine.tuning import tuning
from windowing.model.lengths import INT64_MAX
from windowing.model.limits import LATEST

if TYPE_CHECKING:
    from windowing.engine.reading.shape import Shape

# Texts have no year 0; polars would read one.
_YEAR_1_US = -62_135_596_800_000_000

# Names that are written as they are.
_PLAIN = re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]*')
# The length of an ISO time without its fraction.
_SECONDS = 19
_APPENDED, _SHAPED, _MATCHED = "_appended", "_shaped", "_matched"


@dataclass(frozen=True)
class Alike:
    """What was read of values.

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
    limits = tuning()
    if len(values) < limits.alike_from_values:
        return None
    sample = values.gather_every(max(len(values) // limits.alike_samples, 1))
    names = next((names for value in sample if (names := _names(value, rules))), None)
    if names is None:
        return None
    shape = _shape(names, rules)
    like = shape.read(sample)
    if like is None or 100 * like[1].sum() < limits.alike_percent * len(sample):
        return None
    groups = shape.read(values)
    if groups is None:
        return None
    read = _judged(*groups, append_us, rules)
    matched, columns = read[_MATCHED], read.drop(_MATCHED)
    return Alike(matched, columns if matched.all() else columns.filter(matched))


def _names(value: bytes | None, rules: ValueRules) -> tuple[str, ...] | None:
    """Return the names of a value's fields, in its order; None: it tells no shape."""
    try:
        record = json.loads((value or b"").decode("utf-8"))
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
    return tuple(record) if all(_PLAIN.fullmatch(name) for name in record) else None


@lru_cache(maxsize=64)
def _shape(names: tuple[str, ...], rules: ValueRules) -> Shape:
    from windowing.engine.reading.shape import Shape  # noqa: PLC0415 - loads numba

    return Shape.of(names, rules)


def _judged(
    groups: pl.DataFrame, shaped: pl.Series, append_us: pl.Series, rules: ValueRules
) -> pl.DataFrame:
    """Return the columns of the values, and which have the shape and are legal."""
    read = groups.select(
        _instant(rules).alias(WRITTEN_TIME),
        append_us.cast(pl.Int64).alias(_APPENDED),
        shaped.alias(_SHAPED),
        *(_field(rules, name, there=field_column(name) in groups) for name in rules.fields),
    )
    unit_us = UNIT_US.get(rules.event_time.unit, 1)
    legal = [_legal_time(rules, unit_us), *_legal_fields(rules)]
    return read.select(
        (pl.col(WRITTEN_TIME) * unit_us).alias(TIME),
        *map(field_column, rules.fields),
        pl.all_horizontal(_SHAPED, *legal).alias(_MATCHED),
    )


def _instant(rules: ValueRules) -> pl.Expr:
    """Return the event time in the file's unit, or of ISO texts in microseconds."""
    instant = pl.col(WRITTEN_TIME)
    if rules.event_time.unit != "iso":
        return instant
    text = instant.str.slice(0, _SECONDS)
    seconds = text.str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="us")
    fraction = instant.str.slice(_SECONDS + 1).str.pad_end(6, "0").cast(pl.Int64)
    return seconds.cast(pl.Int64) + fraction


def _field(rules: ValueRules, name: str, *, there: bool) -> pl.Expr:
    """Return a declared field's column; null where the values leave it out."""
    own = field_column(name)
    if name == rules.event_time.field:
        return pl.col(WRITTEN_TIME).alias(own)
    if there and rules.fields[name][0] == "float":
        number = pl.col(own).cast(pl.Float64)
        # There is one zero.
        return pl.when(number == 0).then(0.0).otherwise(number).alias(own)
    if there:
        return pl.col(own)
    return pl.lit(None, dtype=DTYPES[rules.fields[name][0]]).alias(own)


def _legal_time(rules: ValueRules, unit_us: int) -> pl.Expr:
    """Return which event times are legal, compared in their own unit, so that nothing overflows."""
    time, instant = rules.event_time, pl.col(WRITTEN_TIME)
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
