"""Fast decoding of whole batches of clean values; doubtful ones are left to `values`.

A value is decoded directly into a struct of the declared fields. One with other fields or types, or
times that need a closer look, is not judged here: `windowing.engine.reading.values` decides, one
value at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any

import msgspec
import orjson
import polars as pl

from windowing.engine.columns import TIME, field_column
from windowing.engine.reading.values import UNIT_US, BadValue, ValueRules, iso_us
from windowing.model.lengths import INT64_MAX

DTYPES = {"int": pl.Int64, "float": pl.Float64, "string": pl.String}
_TYPES: dict[str, Any] = {"int": int, "float": float, "string": str}
_TIME = "_time"
# Characters that JSON escapes, and that msgspec forbids in names of struct members.
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')


def decode_clean(
    values: Sequence[bytes | None] | pl.Series,
    append_us: Sequence[int | None] | pl.Series,
    rules: ValueRules,
) -> list[pl.Series] | None:
    """Decode values that are all clean; None if any is doubtful.

    Args:
        values: the bytes on the log.
        append_us: the broker's append time of each, or None if unknown.
        rules: of the pipeline.

    Returns:
        `ts_us`, and a column for each declared field.
    """
    read = _reader(rules)
    if read is None:
        return None
    try:
        records = list(map(read, values))
        times = _times(list(map(attrgetter(_TIME), records)), append_us, rules)
        if times is None:
            return None
        columns = [times]
        for number, (name, (kind, _)) in enumerate(rules.fields.items()):
            field = list(map(attrgetter(_own(name, number, rules)), records))
            columns.append(series(name, kind, field))
            if name in rules.placed_by:
                list(map(partial(rules.places, name), field))
    except (msgspec.MsgspecError, ValueError, TypeError):
        return None
    except (OverflowError, BadValue, pl.exceptions.PolarsError):
        return None
    return columns


def series(name: str, kind: str, values: list[Any]) -> pl.Series:
    """Return a field's column."""
    if kind == "float":
        # Adding zero turns -0.0 into 0.0; not in polars, which skips it for columns of one row.
        values = [None if value is None else float(value) + 0.0 for value in values]
    return pl.Series(field_column(name), values, dtype=DTYPES[kind])


def _own(name: str, number: int, rules: ValueRules) -> str:
    """Return the struct attribute that a field is decoded into."""
    return _TIME if name == rules.event_time.field else f"_{number}"


@lru_cache(maxsize=64)
def _reader(rules: ValueRules) -> Callable[[bytes | None], Any] | None:
    """Return a decoder of one value into a struct, which may raise; None: the names prevent it."""
    if any(_ESCAPED.search(name) for name in (rules.event_time.field, *rules.fields)):
        return None
    time, names = rules.event_time, {_TIME: rules.event_time.field}
    members: list[Any] = [(_TIME, str if time.unit == "iso" else int)]
    for number, (name, (kind, nullable)) in enumerate(rules.fields.items()):
        if name != time.field:
            names[f"_{number}"] = name
            type_ = _TYPES[kind]
            members.append(
                (f"_{number}", type_ | None, None) if nullable else (f"_{number}", type_)
            )
    members.sort(key=len)  # optional ones come last
    clean = msgspec.defstruct(
        "Clean", members, rename=names, forbid_unknown_fields=not rules.ignore_unknown, gc=False
    )
    if not rules.ignore_unknown:
        decode: Callable[[bytes | None], Any] = msgspec.json.Decoder(clean).decode  # type: ignore[assignment]
        return decode

    def read(value: bytes | None) -> Any:
        # Ignored fields must still be JSON of a legal depth.
        record = orjson.loads(value)  # type: ignore[arg-type]
        if type(record) is not dict or any(type(item) in (dict, list) for item in record.values()):
            raise TypeError
        return msgspec.convert(record, clean)

    return read


def _times(
    times: list[Any], append_us: Sequence[int | None] | pl.Series, rules: ValueRules
) -> pl.Series | None:
    rule = rules.event_time
    if rule.unit == "iso":
        times, unit_us = [iso_us(text) for text in times], 1
    else:
        unit_us = UNIT_US[rule.unit]
    found = pl.Series(TIME, times, dtype=pl.Int64)
    # Legal instants are compared in their own unit, so that no product exceeds 64 bits.
    first, last = -(-rules.first_us // unit_us), (rule.end_us - 1) // unit_us
    if times and not (first <= found.min() and found.max() <= last):  # type: ignore[operator]
        return None
    found = found * unit_us
    if rule.max_ahead_us is not None:
        appended = pl.Series(append_us, dtype=pl.Int64)
        latest = appended.clip(upper_bound=INT64_MAX - rule.max_ahead_us) + rule.max_ahead_us
        if (found > latest).any():
            return None
    return found
