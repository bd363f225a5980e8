"""JSON objects as values: exactly, by column where they are uniform, into structs where clean.

The values of a topic are mostly written by one program, with the same fields in the same order:
one of them shows the layout, and those of this layout are read by column. Clean values of several
writers are decoded into a struct of the declared fields (ADR 58). What either reads is what the
exact decoder would read; values that they doubt are left to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
import polars as pl

from windowing.engine.columns import WRITTEN_TIME, field_column
from windowing.engine.reading.decoders.decoder import DTYPES, Decoded, Decoder, decoder
from windowing.engine.reading.objects import BadValue, parse_object
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.times import time_us
from windowing.engine.tuning import tuning
from windowing.model.times import ISO
from windowing.model.types import Kind

if TYPE_CHECKING:
    from windowing.engine.reading.decoders.layout import Layout

# Texts have no year 0; polars would read one.
_YEAR_1_US = -62_135_596_800_000_000

# Names that are written as they are.
_PLAIN = re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]*')
# The length of an ISO time without its fraction.
_SECONDS = 19


def decode_uniform(values: pl.Series, rules: ValueRules) -> Decoded | None:
    """Decode the values that have the layout of most of them; None if too few do."""
    limits, spelling = tuning(), rules.event_time.spelling
    if not spelling.is_scaled and spelling != ISO:
        return None
    if len(values) < limits.alike_from_values:
        return None
    sample = values.gather_every(max(len(values) // limits.alike_samples, 1))
    names = next((names for value in sample if (names := _names(value, rules))), None)
    if names is None:
        return None
    layout = _layout(names, rules)
    like = layout.read(sample)
    if like is None or 100 * like[1].sum() < limits.alike_percent * len(sample):
        return None
    found = layout.read(values)
    if found is None:
        return None
    columns, matched = found
    if rules.event_time.unit != "iso":
        return Decoded(matched, columns)
    columns = columns.with_columns(_instant(rules).alias(WRITTEN_TIME))
    known = (columns[WRITTEN_TIME] >= _YEAR_1_US).fill_null(value=False)
    return Decoded(matched & known, columns)


def _names(value: bytes | None, rules: ValueRules) -> tuple[str, ...] | None:
    """Return the names of a value's fields, in its order; None: it shows no layout."""
    try:
        record = json.loads((value or b"").decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    time = rules.event_time
    if not isinstance(record, dict) or (rules.time is None and time.field not in record):
        return None
    if time.field in rules.fields and (time.unit == "iso" or rules.fields[time.field][0] != "int"):
        return None
    absent = rules.fields.keys() - record.keys()
    unknown = [name for name in record if not rules.known(name)]
    if not all(rules.fields[name][1] for name in absent) or (unknown and not rules.ignore_unknown):
        return None
    return tuple(record) if all(_PLAIN.fullmatch(name) for name in record) else None


@lru_cache(maxsize=64)
def _layout(names: tuple[str, ...], rules: ValueRules) -> Layout:
    from windowing.engine.reading.decoders.layout import Layout  # noqa: PLC0415 - loads numba

    return Layout.of(names, rules)


def _instant(rules: ValueRules) -> pl.Expr:
    """Return the event time in the file's unit, or of ISO texts in microseconds."""
    instant = pl.col(WRITTEN_TIME)
    if rules.event_time.unit != "iso":
        return instant
    text = instant.str.slice(0, _SECONDS)
    seconds = text.str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="us")
    fraction = instant.str.slice(_SECONDS + 1).str.pad_end(6, "0").cast(pl.Int64)
    return seconds.cast(pl.Int64) + fraction


_TYPES: dict[str, Any] = {"int": int, "float": float, "string": str}
_TIME = "_time"
# Characters that JSON escapes, and that msgspec forbids in names of struct members.
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')


def decode_clean(values: Sequence[bytes | None], rules: ValueRules) -> pl.DataFrame | None:
    """Decode values that are all clean; None if any is doubtful.

    Returns:
        the event time, and a column for each declared field, as `Decoded` has them.
    """
    read = _reader(rules)
    if read is None:
        return None
    try:
        records = list(map(read, values))
        columns = [] if rules.time is not None else [_written(records, rules)]
        for number, (name, (kind, _)) in enumerate(rules.fields.items()):
            field = list(map(attrgetter(_own(name, number, rules)), records))
            columns.append(pl.Series(field_column(name), field, dtype=DTYPES[kind]))
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, BadValue):
        return None
    except pl.exceptions.PolarsError:
        return None
    return pl.DataFrame(columns)


def _written(records: Sequence[Any], rules: ValueRules) -> pl.Series:
    times = list(map(attrgetter(_TIME), records))
    if not rules.event_time.spelling.is_scaled:
        times = [time_us(time, rules.event_time.spelling) for time in times]
    return pl.Series(WRITTEN_TIME, times, dtype=pl.Int64)


def _own(name: str, number: int, rules: ValueRules) -> str:
    return _TIME if name == rules.event_time.field else f"_{number}"


@lru_cache(maxsize=64)
def _reader(rules: ValueRules) -> Callable[[bytes | None], Any] | None:
    """Return a decoder of one value into a struct, which may raise; None: the names prevent it."""
    if any(_ESCAPED.search(name) for name in (rules.event_time.field, *rules.fields)):
        return None
    if rules.event_time.fraction or not (rules.time is None or rules.fields):
        return None
    time, names, members = rules.event_time, dict[str, str](), list[Any]()
    if rules.time is None:
        names[_TIME] = time.field
        members.append((_TIME, str if time.spelling.is_text else int))
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


@decoder("json")
class JsonDecoder(Decoder):
    """Objects, in UTF-8."""

    rule = "a value is one JSON object in UTF-8"

    def __init__(self, settings: None, wanted: Mapping[str, Kind]) -> None:
        del settings
        self._exact = "decimal" in wanted.values()

    def exact(self, value: bytes) -> dict[str, Any]:
        """Return an object's members."""
        return parse_object(value, exact=self._exact)

    def columns(self, values: pl.Series, rules: ValueRules) -> Decoded | None:
        """Read the values that have the layout of most."""
        return decode_uniform(values, rules)

    def records(self, values: Sequence[bytes | None], rules: ValueRules) -> pl.DataFrame | None:
        """Read values into structs of the declared fields."""
        return decode_clean(values, rules)
