"""JSON objects as the log's contract defines them, for values and control records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
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
        if exact:
            document = _EXACT.decode(text)
        else:
            document = (_CAREFUL if "\\u" in text else _PLAIN).decode(text)
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


def _exact(digits: str) -> Decimal:
    """Return a number with a fraction or an exponent; one beyond all types becomes another such."""
    try:
        return Decimal(digits)
    except InvalidOperation:  # an exponent of 19 digits or more
        mantissa, _, exponent = digits.lower().partition("e")
        size = -_DIGITS_MAX if exponent.startswith("-") else _DIGITS_MAX
        sign = -1 if mantissa.startswith("-") else 1
        return sign * Decimal(f"1e{size}") if Decimal(mantissa) else Decimal(0)


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


_PLAIN = json.JSONDecoder(parse_int=_int, parse_constant=_no_constant)
_CAREFUL = json.JSONDecoder(parse_int=_int, parse_constant=_no_constant, object_pairs_hook=_object)
_EXACT = json.JSONDecoder(
    parse_int=_int, parse_float=_exact, parse_constant=_no_constant, object_pairs_hook=_object
)
