"""JSON objects, strictly, and the refusal of a value."""

from __future__ import annotations

import json
from typing import Any, NoReturn

DEPTH_MAX = 512
"""The deepest legal nesting of objects and arrays; deeper values are malformed."""


class BadValue(Exception):
    """A rejected value; `reason` is the dead letter's reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def parse_object(value: bytes | None) -> dict[str, Any]:
    """Parse a JSON object strictly: UTF-8, no NaN, no lone surrogate, integers kept exact.

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


def _integer(digits: str) -> int:
    # Python refuses to parse very long integers; all are far outside 64 bits, so a shorter integer
    # of the same sign replaces them.
    if len(digits) > 400:
        return -(10**400) if digits.startswith("-") else 10**400
    return int(digits)
