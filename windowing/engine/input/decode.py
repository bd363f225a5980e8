"""Values that are plainly clean, a whole batch at a time; what is doubtful is left to others.

A value is read straight into a struct of the declared fields and no more. One that has other
fields, other types, or times that need a closer look is not judged here:
`windowing.engine.input.values` says what it is, one at a time.
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
from windowing.engine.input.values import UNIT_US, BadValue, ValueRules, iso_us

DTYPES = {"int": pl.Int64, "float": pl.Float64, "string": pl.String}
_TYPES: dict[str, Any] = {"int": int, "float": float, "string": str}
_TIME = "_time"
# What JSON escapes in a name, and msgspec allows in no name of a struct's member.
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')


def decode_clean(
    values: Sequence[bytes | None], append_us: Sequence[int | None], rules: ValueRules
) -> list[pl.Series] | None:
    """Decode values of which every one is plainly clean; None if any is doubtful.

    Args:
        values: the bytes on the log.
        append_us: the broker's append time of each, or None where it is not known.
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
    except (msgspec.MsgspecError, orjson.JSONDecodeError, UnicodeDecodeError, TypeError):
        return None
    except (OverflowError, BadValue, pl.exceptions.PolarsError):
        return None
    return columns


def series(name: str, kind: str, values: list[Any]) -> pl.Series:
    """A field's column."""
    if kind == "float":
        # Adding zero reads -0.0 as 0.0; a column of one row plus zero is the row itself in polars.
        values = [None if value is None else float(value) + 0.0 for value in values]
    return pl.Series(field_column(name), values, dtype=DTYPES[kind])


def _own(name: str, number: int, rules: ValueRules) -> str:
    """The attribute of the struct that a field is read into."""
    return _TIME if name == rules.event_time.field else f"_{number}"


@lru_cache(maxsize=64)
def _reader(rules: ValueRules) -> Callable[[bytes | None], Any] | None:
    """What reads one value into a struct, or raises; None: names are beyond such structs."""
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
    members.sort(key=len)  # those that may be absent come last
    clean = msgspec.defstruct(
        "Clean", members, rename=names, forbid_unknown_fields=not rules.ignore_unknown, gc=False
    )
    if not rules.ignore_unknown:
        decode: Callable[[bytes | None], Any] = msgspec.json.Decoder(clean).decode  # type: ignore[assignment]
        return decode

    def read(value: bytes | None) -> Any:
        # What is ignored must still be JSON of a legal depth.
        record = orjson.loads(value)  # type: ignore[arg-type]
        if type(record) is not dict or any(type(item) in (dict, list) for item in record.values()):
            raise TypeError
        return msgspec.convert(record, clean)

    return read


def _times(
    times: list[Any], append_us: Sequence[int | None], rules: ValueRules
) -> pl.Series | None:
    rule = rules.event_time
    if rule.unit == "iso":
        times = [iso_us(text) for text in times]
    elif rule.unit != "us":
        unit_us = UNIT_US[rule.unit]
        times = [time * unit_us for time in times]
    if times and not (min(times) >= rules.first_us and max(times) < rule.end_us):
        return None
    if rule.max_ahead_us is not None and any(
        appended is not None and time > appended + rule.max_ahead_us
        for time, appended in zip(times, append_us, strict=True)
    ):
        return None
    return pl.Series(TIME, times, dtype=pl.Int64)
