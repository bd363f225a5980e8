"""JSON objects as the log's contract defines them, for values and control records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

DEPTH_MAX = 512
"""The deepest legal nesting of objects and arrays; deeper values are malformed."""

_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
# Python refuses to convert very long digit strings; such a number is beyond every type anyway.
_DIGITS_MAX = 400
_BEYOND: int = 10**_DIGITS_MAX


def parse_object(value: bytes | None, *, exact: bool = False) -> dict[str, Any] | None:
    """Return a JSON object, or None if the bytes are anything else.

    With `exact`, a number with a fraction or an exponent is a decimal of its digits.

    A duplicate name keeps its last value. Not JSON: NaN and infinities, a lone surrogate anywhere,
        a byte order mark, text that is not UTF-8, and nesting beyond `DEPTH_MAX`.
    """
    try:
        text = (value or b"").decode("utf-8")
        if _depth(text) > DEPTH_MAX:
            return None
        plain, careful = _EXACT if exact else _ROUNDED
        document = (careful if "\\u" in text else plain).decode(text)
    except ValueError:  # UnicodeDecodeError and JSONDecodeError are subclasses
        return None
    return document if isinstance(document, dict) else None


def _depth(text: str) -> int:
    """Return the greatest depth of brackets outside strings; any smaller number if it is legal."""
    if text.count("{") + text.count("[") <= DEPTH_MAX:
        return 0
    depth = deepest = 0
    for mark in _STRINGS.sub("", text):
        if mark in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in "}]":
            depth -= 1
    return deepest


def _int(digits: str) -> int:
    if len(digits) <= _DIGITS_MAX:
        return int(digits)
    return -_BEYOND if digits.startswith("-") else _BEYOND


def _no_constant(name: str) -> NoReturn:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object after checking all its strings, including those of overwritten names."""
    _refuse_lone_surrogates(pairs)
    return dict(pairs)


def _refuse_lone_surrogates(parts: Iterable[object]) -> None:
    for part in parts:
        if isinstance(part, str) and _SURROGATE.search(part):
            msg = "a lone surrogate is not text"
            raise ValueError(msg)
        if isinstance(part, list | tuple):
            _refuse_lone_surrogates(part)


def _exact(number: str) -> Decimal:
    try:
        return Decimal(number)
    except InvalidOperation:  # its exponent has 18 digits or more: it is 0, huge, or tiny
        mantissa, exponent = re.split("[eE]", number)
        if not mantissa.strip("-0."):
            return Decimal(0)
        beyond = Decimal((mantissa.startswith("-"), (1,), _DIGITS_MAX * 10))
        return beyond if not exponent.startswith("-") else beyond.scaleb(-_DIGITS_MAX * 20)


def _decoders(number: Callable[[str], Any] | None) -> tuple[json.JSONDecoder, json.JSONDecoder]:
    """Return a decoder of plain objects, and one that looks for lone surrogates."""
    plain = json.JSONDecoder(parse_int=_int, parse_float=number, parse_constant=_no_constant)
    return plain, json.JSONDecoder(
        parse_int=_int,
        parse_float=number,
        parse_constant=_no_constant,
        object_pairs_hook=_object,
    )


_ROUNDED, _EXACT = _decoders(None), _decoders(_exact)
