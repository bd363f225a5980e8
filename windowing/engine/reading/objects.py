"""JSON objects, strictly, and the refusal of a value."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

DEPTH_MAX = 512
"""The deepest legal nesting of objects and arrays; deeper values are malformed."""


class BadValue(Exception):
    """A rejected value; `reason` is the dead letter's reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def parse_object(value: bytes | None, *, exact: bool = False) -> dict[str, Any]:
    """Parse a JSON object strictly: UTF-8, no NaN, no lone surrogate, integers kept exact.

    Args:
        exact: numbers with a fraction or an exponent are decimals of their digits, not floats.

    Raises:
        BadValue: `malformed`.
    """
    if value is None:
        raise BadValue("malformed")
    try:
        parsed = json.loads(
            value.decode("utf-8"),
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=exact_number if exact else None,
            object_pairs_hook=_object,
        )
        if _depth(parsed) > DEPTH_MAX:
            raise BadValue("malformed")
    except (ValueError, RecursionError):
        raise BadValue("malformed") from None
    if not isinstance(parsed, dict):
        raise BadValue("malformed")
    return parsed


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; the last of equal names wins, but the others must be JSON too."""
    for name, value in pairs:
        name.encode("utf-8")
        _refuse_surrogates(value)
    return dict(pairs)


def _refuse_surrogates(value: Any) -> None:
    """Raise ValueError for a lone surrogate in a text or an array; objects check their own."""
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, list):
        for part in value:
            _refuse_surrogates(part)


def _depth(value: Any) -> int:
    """Return the nesting depth of objects and arrays; stops early if far too deep."""
    depth, level = 0, [value]
    while level and depth <= DEPTH_MAX:
        level = [part for part in level if isinstance(part, (dict, list))]
        depth += bool(level)
        level = [
            child for part in level for child in (part.values() if isinstance(part, dict) else part)
        ]
    return depth


def _no_constant(text: str) -> NoReturn:
    msg = f"{text} is not JSON"
    raise ValueError(msg)


def exact_number(text: str) -> Decimal:
    """Return a JSON number without rounding.

    Exponents beyond what a decimal holds become others that no type of ours holds either; as a
    double, both are infinite, or zero.
    """
    try:
        return Decimal(text)
    except InvalidOperation:
        digits, _, exponent = text.lower().partition("e")
        if not any(digit in "123456789" for digit in digits):
            return Decimal(0)
        sign = "-" if digits.startswith("-") else ""
        return Decimal(f"{sign}1e{'-' if exponent.startswith('-') else ''}100000")


def _integer(digits: str) -> int:
    # Python refuses to parse very long integers; all are far outside 64 bits, so a shorter integer
    # of the same sign replaces them.
    if len(digits) > 400:
        return -(10**400) if digits.startswith("-") else 10**400
    return int(digits)
