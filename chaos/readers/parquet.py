"""Rows of a Parquet file as values in JSON, exactly, in batches: memory holds one at a time.

| Parquet | JSON |
|---|---|
| integers, booleans, text, null | the same |
| decimals | a number with all of its digits |
| floats | the shortest number that is the same double; what is not finite: its name as a text |
| timestamps | as the field's type asks, exactly (`_Times`); without a zone they are in UTC |
| dates, times of day | `2024-03-01`, `12:30:00.500000` |
| durations | a number, in the column's unit |
| lists, structs | arrays, objects |
| maps | objects; with keys that are no text arrays of `{"key", "value"}` |
| binary | text in base64 |
"""

from __future__ import annotations

import math
import os
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from pathlib import Path as FilePath
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from chaos.readers.log import EventsFileError
from windowing.model.paths import Path, spelled
from windowing.model.source import Source

_BATCH_ROWS: Final = 10_000
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT: Final = Context(prec=60)
_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")

Convert = Callable[[Any], Any]
"""From a value that is not null, as Python has it, to what JSON gets."""


def parquet_values(path: FilePath, source: Source) -> Iterator[bytes]:
    """Yield the rows of a file as values.

    Args:
        source: of whose topic they are: its types decide how times are spelled.

    Raises:
        EventsFileError: it is no Parquet file, is damaged, or has a column without a spelling.
    """
    try:
        with pq.ParquetFile(path) as file:
            columns = [_Column(field, source) for field in file.schema_arrow]
            for batch in file.iter_batches(_BATCH_ROWS):
                lists = [one.values(part) for one, part in zip(columns, batch.columns, strict=True)]
                names = [one.name for one in columns]
                rows = zip(*lists, strict=True) if lists else [()] * batch.num_rows
                for row in rows:
                    yield _ENCODER.encode(dict(zip(names, row, strict=True)))
    except OSError as error:
        if error.errno is None:
            raise _unreadable(path, error) from error
        msg = f"cannot read {path}: {os.strerror(error.errno)}"
        raise EventsFileError(msg) from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: FilePath, error: Exception) -> EventsFileError:
    return EventsFileError(f"{path} cannot be read as Parquet: {error}")


class _Column:
    """A column on its way to JSON.

    Args:
        field: of the file's schema.
    """

    def __init__(self, field: pa.Field, source: Source) -> None:
        self.name = field.name
        self._times = _Times(source)
        self._type = _carrier(field.type)
        self._is_other = self._type != field.type
        self._convert = self._of(field.type, (field.name,))

    def values(self, part: pa.Array) -> list[Any]:
        carried = part.cast(self._type) if self._is_other else part
        found: list[Any] = carried.to_pylist()
        convert = self._convert
        if convert is None:
            return found
        return [None if value is None else convert(value) for value in found]

    def _of(self, type_: pa.DataType, path: Path) -> Convert | None:
        """Return how values of a type get to JSON; None: as they are."""
        if pa.types.is_dictionary(type_):
            return self._of(type_.value_type, path)
        if pa.types.is_floating(type_):
            return _float
        if pa.types.is_timestamp(type_):
            return self._times.of(type_, path)
        if _is_binary(type_):
            return lambda value: b64encode(value).decode()
        if pa.types.is_map(type_):
            return self._of_map(type_, path)
        if _is_list(type_):
            own = self._of(type_.value_type, (*path, 0))
            return own and (lambda value: [None if one is None else own(one) for one in value])
        if pa.types.is_struct(type_):
            return self._of_struct(type_, path)
        return None

    def _of_struct(self, type_: pa.DataType, path: Path) -> Convert | None:
        converts = {one.name: self._of(one.type, (*path, one.name)) for one in type_.fields}
        own = {name: convert for name, convert in converts.items() if convert is not None}
        if not own:
            return None

        def convert(value: dict[str, Any]) -> dict[str, Any]:
            return {
                name: of(one) if one is not None and (of := own.get(name)) else one
                for name, one in value.items()
            }

        return convert

    def _of_map(self, type_: pa.DataType, path: Path) -> Convert:
        of_key, of_value = self._of(type_.key_type, path), self._of(type_.item_type, path)
        is_text = pa.types.is_string(type_.key_type) or pa.types.is_large_string(type_.key_type)

        def convert(value: list[tuple[Any, Any]]) -> Any:
            pairs = [
                (
                    of_key(key) if of_key else key,
                    of_value(one) if of_value and one is not None else one,
                )
                for key, one in value
            ]
            return dict(pairs) if is_text else [{"key": key, "value": one} for key, one in pairs]

        return convert


class _Times:
    """How timestamps are spelled: by the type of the field that they are for.

    `timestamp`, the event time, and what is not declared: as `unit` of the event time; `int`:
    microseconds; `string`: ISO 8601. A time that has more digits than its unit keeps them, as a
    fraction.
    """

    def __init__(self, source: Source) -> None:
        self._fields, self._event_time = source.fields, source.event_time

    def of(self, type_: pa.TimestampType, path: Path) -> Convert:
        name = spelled(path)
        known = None if name == self._event_time.field else self._fields.get(name)
        unit: object = self._event_time.unit
        if known is not None:
            unit = {"int": "us", "string": "iso"}.get(known.kind, unit)
        per_second = _PER_SECOND[type_.unit]
        if unit == "iso":
            return lambda value: _iso(value, per_second)
        wanted = _PER_SECOND.get(unit) if isinstance(unit, str) else None
        if wanted is None:
            msg = (
                f"column {name} has timestamps, and source.event_time.unit is a form of "
                "text, which may name two instants alike: let unit be iso for such a file"
            )
            raise EventsFileError(msg)
        if wanted >= per_second:
            return lambda value: value * (wanted // per_second)
        factor = per_second // wanted
        return lambda value: _quotient(value, factor)


def _quotient(value: int, factor: int) -> int | Decimal:
    whole, rest = divmod(value, factor)
    return _EXACT.divide(Decimal(value), Decimal(factor)) if rest else whole


def _iso(value: int, per_second: int) -> str | int:
    """Return an instant as text, in UTC; a number where no calendar has it."""
    seconds, rest = divmod(value, per_second)
    try:
        whole = (_EPOCH + timedelta(seconds=seconds)).isoformat().removesuffix("+00:00")
    except OverflowError:
        return value
    digits = f"{rest:0{len(str(per_second)) - 1}d}".rstrip("0") if rest else ""
    return f"{whole}.{digits}Z" if digits else f"{whole}Z"


def _float(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _carrier(type_: pa.DataType) -> pa.DataType:
    """Return the type by which values get to Python without loss."""
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        return pa.int64()
    if pa.types.is_date(type_) or pa.types.is_time(type_):
        return pa.string()
    if pa.types.is_dictionary(type_):
        return _carrier(type_.value_type)
    if pa.types.is_map(type_):
        return pa.map_(_carrier(type_.key_type), _carrier(type_.item_type))
    if pa.types.is_struct(type_):
        return pa.struct([one.with_type(_carrier(one.type)) for one in type_.fields])
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(_carrier(type_.value_type), type_.list_size)
    if pa.types.is_large_list(type_):
        return pa.large_list(_carrier(type_.value_type))
    if pa.types.is_list(type_):
        return pa.list_(_carrier(type_.value_type))
    return type_


def _is_list(type_: pa.DataType) -> bool:
    is_one = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(of(type_) for of in is_one)


def _is_binary(type_: pa.DataType) -> bool:
    is_one = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(of(type_) for of in is_one)
