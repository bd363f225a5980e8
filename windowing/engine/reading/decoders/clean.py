"""Fast decoding of clean values, whatever their layouts; doubtful ones are left to the exact half.

A value is decoded directly into a struct of the declared fields. One with other fields or types is
not judged here. It stays beside uniform reading for topics of several writers (ADR 58).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec
import orjson
import polars as pl

from windowing.engine.columns import WRITTEN_TIME, field_column
from windowing.engine.reading.decoders.decoder import DTYPES
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.times import iso_us

_TYPES: dict[str, Any] = {"int": int, "float": float, "string": str}
_TIME = "_time"
# Characters that JSON escapes, and that msgspec forbids in names of struct members.
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')


def decode_clean(values: Sequence[bytes | None], rules: ValueRules) -> pl.DataFrame | None:
    """Decode values that are all clean; None if any is doubtful.

    Args:
        values: the bytes on the log.
        rules: of the pipeline.

    Returns:
        the event time, and a column for each declared field, as `Decoded` has them.
    """
    read = _reader(rules)
    if read is None:
        return None
    try:
        records = list(map(read, values))
        times = list(map(attrgetter(_TIME), records))
        if rules.event_time.unit == "iso":
            times = [iso_us(text) for text in times]
        columns = [pl.Series(WRITTEN_TIME, times, dtype=pl.Int64)]
        for number, (name, (kind, _)) in enumerate(rules.fields.items()):
            field = list(map(attrgetter(_own(name, number, rules)), records))
            columns.append(pl.Series(field_column(name), field, dtype=DTYPES[kind]))
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, BadValue):
        return None
    except pl.exceptions.PolarsError:
        return None
    return pl.DataFrame(columns)


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
