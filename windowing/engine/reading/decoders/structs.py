"""Clean values of several writers, decoded into structs of what is declared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec
import orjson
import polars as pl

from windowing.engine.columns import WRITTEN_TIME, field_column
from windowing.engine.reading.decimals import NUMBER, read_decimal
from windowing.engine.reading.decoders.decoder import dtype_of
from windowing.engine.reading.objects import DEPTH_MAX, BadValue, exact_number
from windowing.engine.reading.paths import Tree
from windowing.engine.reading.rules import ValueRules, may_be_null
from windowing.engine.reading.times import time_us
from windowing.model.types import FieldType

_TYPES: Final[dict[str, Any]] = {
    "int": int,
    "float": float,
    "string": str,
    "bool": bool,
    "date": str,
    "decimal": msgspec.Raw,
}
# Characters that JSON escapes, and that msgspec forbids in names of struct members.
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')


class _UnfitError(Exception):
    """What is declared cannot be decoded so."""


class _Reader(NamedTuple):
    """How values are decoded.

    Attributes:
        read: decodes one into a struct, or raises.
        tree: what is declared; the attribute of a key in a struct is its number there.
    """

    read: Callable[[bytes | None], Any]
    tree: Tree


def decode_clean(values: Sequence[bytes | None], rules: ValueRules) -> pl.DataFrame | None:
    """Decode values that are all clean; None if any is doubtful.

    Returns:
        the event time, and a column for each declared field, as `Decoded` has them.
    """
    reader = _reader(rules)
    if reader is None:
        return None
    time = rules.event_time
    try:
        found = dict(_values([*map(reader.read, values)], reader.tree))
        columns = list[pl.Series]()
        if rules.time is None:
            if None in found[time.field]:
                return None
            columns.append(_times(found[time.field], rules))
        for name, type_ in rules.fields.items():
            own = found[name]
            if not type_.nullable and None in own:  # an array is too short
                return None
            if type_.kind == "timestamp" and name == time.field:
                continue
            if type_.kind in ("decimal", "timestamp"):
                own = [_converted(value, type_, rules) for value in own]
            columns.append(pl.Series(field_column(name), own, dtype=dtype_of(type_)))
    except (msgspec.MsgspecError, ValueError, TypeError, ArithmeticError, RecursionError, BadValue):
        return None
    except pl.exceptions.PolarsError:
        return None
    return pl.DataFrame(columns)


def _times(written: list[Any], rules: ValueRules) -> pl.Series:
    spelling = rules.event_time.spelling
    if spelling.is_scaled:
        return pl.Series(WRITTEN_TIME, written, dtype=pl.Int64)
    if spelling.fraction:
        written = [_number(raw) for raw in written]
    times = [time_us(time, spelling) for time in written]
    return pl.Series(WRITTEN_TIME, times, dtype=pl.Int64)


def _values(structs: list[Any], tree: Tree) -> Iterator[tuple[str, list[Any]]]:
    """Yield each field with its values, which structs have; a struct may be None."""
    if isinstance(next(iter(tree)), int):
        ((place, wanted),) = tree.items()
        assert isinstance(place, int)  # noqa: S101 - as `_type` has seen
        inside = [None if s is None or place >= len(s) else s[place] for s in structs]
        yield from [(wanted, inside)] if isinstance(wanted, str) else _values(inside, wanted)
        return
    some_lack = None in structs
    for number, wanted in enumerate(tree.values()):
        get = attrgetter(f"_{number}")
        if some_lack:
            inside = [None if one is None else get(one) for one in structs]
        else:
            inside = [*map(get, structs)]
        yield from [(wanted, inside)] if isinstance(wanted, str) else _values(inside, wanted)


def _converted(value: Any, type_: FieldType, rules: ValueRules) -> Any:
    """Return a decimal of its text, or a timestamp in microseconds.

    Raises:
        BadValue: it is another thing.
        TypeError: it is a null that its type does not allow, or is doubtful.
    """
    if value is None:
        return None
    if type_.kind == "timestamp":
        if isinstance(value, msgspec.Raw):
            if bytes(value) == b"null" and type_.nullable:
                return None
            value = _number(value)
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


def _number(raw: msgspec.Raw) -> Any:
    """Return a JSON number exactly.

    Raises:
        ValueError, TypeError: it is none.
    """
    text = str(memoryview(raw), "ascii")
    if not NUMBER.fullmatch(text):
        raise TypeError
    return int(text) if text.lstrip("-").isdigit() else exact_number(text)


@lru_cache(maxsize=64)
def _reader(rules: ValueRules) -> _Reader | None:
    """Return how values are decoded; None: what is declared prevents it."""
    time = rules.event_time
    if not rules.tree:
        return None
    if time.field in rules.fields:
        kind = rules.fields[time.field].kind
        if kind in ("bool", "decimal", "date") or (time.fraction and kind != "timestamp"):
            return None
    try:
        clean = _struct(rules.tree, rules, is_whole=True)
    except _UnfitError:
        return None
    decode: Callable[[bytes | None], Any] = msgspec.json.Decoder(clean).decode  # type: ignore[assignment]
    is_nested = any(len(path) > 1 for path in rules.paths.values())
    if not rules.ignore_unknown and not is_nested:
        return _Reader(decode, rules.tree)
    is_raw = time.fraction or any(one.kind == "decimal" for one in rules.fields.values())

    def read(value: bytes | None) -> Any:
        # What is ignored must still be JSON of a legal depth.
        record = orjson.loads(value)  # type: ignore[arg-type]
        if type(record) is not dict or not _is_shallow(value, record):
            raise TypeError
        # Numbers that are read from their digits need the bytes again.
        if is_raw or is_nested:
            return decode(value)
        return msgspec.convert(record, clean)

    return _Reader(read, rules.tree)


def _is_shallow(value: bytes | None, record: dict[str, Any]) -> bool:
    """Whether a value is surely not nested too deep."""
    assert value is not None  # noqa: S101 - it has been parsed
    return value.count(b"{") + value.count(b"[") <= DEPTH_MAX or not any(
        type(item) in (dict, list) for item in record.values()
    )


def _struct(tree: Tree, rules: ValueRules, *, is_whole: bool = False) -> Any:
    """Return the struct of an object.

    Raises:
        _UnfitError: there is none.
    """
    names, members = dict[str, str](), list[Any]()
    for number, (key, wanted) in enumerate(tree.items()):
        if _ESCAPED.search(str(key)):
            raise _UnfitError
        names[f"_{number}"] = str(key)
        members.append((f"_{number}", *_type(wanted, rules)))
    members.sort(key=len)  # optional ones come last
    strict = is_whole and not rules.ignore_unknown
    return msgspec.defstruct("Clean", members, rename=names, forbid_unknown_fields=strict, gc=False)


def _type(wanted: Tree | str, rules: ValueRules) -> tuple[Any, ...]:
    """Return the type of what is declared, and None as the default if it may be null."""
    if not isinstance(wanted, str):
        if isinstance(next(iter(wanted)), str):
            inside, optional = _struct(wanted, rules), [None] * may_be_null(wanted, rules)
        elif len(wanted) == 1:
            ((_, element),) = wanted.items()
            kind, *optional = _type(element, rules)
            inside = list[kind]  # type: ignore[valid-type]
        else:
            raise _UnfitError
        return (inside | None, None) if optional else (inside,)
    time = rules.event_time
    instant = msgspec.Raw if time.fraction else str if time.spelling.is_text else int
    if wanted == time.field:
        return (instant,)
    type_ = rules.fields[wanted]
    own = instant if type_.kind == "timestamp" else _TYPES[type_.kind]
    if not type_.nullable:
        return (own,)
    # Raw text may be null anyway.
    return (own if own is msgspec.Raw else own | None, None)
