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
from typing import TYPE_CHECKING, Any, Final

import msgspec
import orjson
import polars as pl

from windowing.engine.columns import WRITTEN_TIME, field_column
from windowing.engine.reading.decimals import read_decimal
from windowing.engine.reading.decoders.decoder import Decoded, Decoder, decoder, dtype_of
from windowing.engine.reading.objects import BadValue, parse_object
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.times import time_us
from windowing.engine.tuning import tuning
from windowing.model.lengths import INT64_MAX
from windowing.model.limits import LATEST
from windowing.model.times import ISO
from windowing.model.types import FieldType, Kind

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
    columns = columns.with_columns(
        *(
            _microseconds(pl.col(field_column(name)), rules)
            for name in rules.timestamps
            if field_column(name) in columns.columns
        )
    )
    if rules.event_time.unit != "iso":
        return Decoded(matched, columns)
    columns = columns.with_columns(_instant(pl.col(WRITTEN_TIME)).alias(WRITTEN_TIME))
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
    kind = rules.fields[time.field].kind if time.field in rules.fields else "timestamp"
    if kind != "timestamp" and (time.unit == "iso" or kind != "int"):
        return None
    absent = rules.fields.keys() - record.keys()
    unknown = [name for name in record if not rules.known(name)]
    if not all(rules.fields[name].nullable for name in absent) or (
        unknown and not rules.ignore_unknown
    ):
        return None
    return tuple(record) if all(_PLAIN.fullmatch(name) for name in record) else None


@lru_cache(maxsize=64)
def _layout(names: tuple[str, ...], rules: ValueRules) -> Layout:
    from windowing.engine.reading.decoders.layout import Layout  # noqa: PLC0415 - loads numba

    return Layout.of(names, rules)


def _instant(instant: pl.Expr) -> pl.Expr:
    """Return ISO texts in microseconds."""
    text = instant.str.slice(0, _SECONDS)
    seconds = text.str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="us")
    fraction = instant.str.slice(_SECONDS + 1).str.pad_end(6, "0").cast(pl.Int64)
    return seconds.cast(pl.Int64) + fraction


def _microseconds(written: pl.Expr, rules: ValueRules) -> pl.Expr:
    """Return timestamps in microseconds; those that no rule allows as one that none allows."""
    if rules.event_time.unit == "iso":
        us = _instant(written)
        known = us >= _YEAR_1_US
        # A text that is no time is not null, so that it stays doubtful.
        return pl.when(written.is_null() | known).then(us).otherwise(_NO_TIME)
    unit_us = rules.event_time.spelling.unit_us
    fits = written.is_between(-(LATEST // unit_us), LATEST // unit_us)
    return pl.when(fits).then(written * unit_us).when(written.is_not_null()).then(_NO_TIME)


_NO_TIME: Final = pl.lit(INT64_MAX, dtype=pl.Int64)

_TYPES: dict[str, Any] = {
    "int": int,
    "float": float,
    "string": str,
    "bool": bool,
    "date": str,
    "decimal": msgspec.Raw,
}
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
        for number, (name, type_) in enumerate(rules.fields.items()):
            field = list(map(attrgetter(_own(name, number, rules)), records))
            if type_.kind in ("decimal", "timestamp") and name != rules.event_time.field:
                field = [_converted(value, type_, rules) for value in field]
            if type_.kind == "timestamp" and name == rules.event_time.field:
                continue
            columns.append(pl.Series(field_column(name), field, dtype=dtype_of(type_)))
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, BadValue):
        return None
    except pl.exceptions.PolarsError:
        return None
    return pl.DataFrame(columns)


def _converted(value: Any, type_: FieldType, rules: ValueRules) -> Any:
    """Return a decimal of its text, or a timestamp in microseconds.

    Raises:
        BadValue: it is another thing.
        TypeError: it is a null that its type does not allow, or is doubtful.
    """
    if value is None:
        return None
    if type_.kind == "timestamp":
        us = time_us(value, rules.event_time.spelling)
        if us is None:
            raise TypeError
        return us
    text = str(memoryview(value), "ascii")
    if text == "null" and type_.nullable:
        return None
    if "\\" in text or not (text[0] in '"-' or text[0].isdigit()):
        raise TypeError
    return read_decimal(text.strip('"'), type_)


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
    time = rules.event_time
    if time.field in rules.fields and rules.fields[time.field].kind in ("bool", "decimal", "date"):
        return None
    members = _members(rules)
    clean = msgspec.defstruct(
        "Clean",
        [member for _, member in members],
        rename={member[0]: name for name, member in members},
        forbid_unknown_fields=not rules.ignore_unknown,
        gc=False,
    )
    decode: Callable[[bytes | None], Any] = msgspec.json.Decoder(clean).decode  # type: ignore[assignment]
    if not rules.ignore_unknown:
        return decode

    def read(value: bytes | None) -> Any:
        # Ignored fields must still be JSON of a legal depth.
        record = orjson.loads(value)  # type: ignore[arg-type]
        if type(record) is not dict or any(type(item) in (dict, list) for item in record.values()):
            raise TypeError
        return decode(value)

    return read


def _members(rules: ValueRules) -> list[tuple[str, Any]]:
    """Return the members of a struct, each with its name in the values; optional ones come last."""
    time, members = rules.event_time, list[tuple[str, Any]]()
    instant = str if time.spelling.is_text else int
    if rules.time is None:
        members.append((time.field, (_TIME, instant)))
    for number, (name, type_) in enumerate(rules.fields.items()):
        if name != time.field:
            own = instant if type_.kind == "timestamp" else _TYPES[type_.kind]
            # Raw text may be null anyway.
            nullable = own if own is msgspec.Raw else own | None
            members.append(
                (name, (f"_{number}", nullable, None) if type_.nullable else (f"_{number}", own))
            )
    return sorted(members, key=lambda one: len(one[1]))


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
