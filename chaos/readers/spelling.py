"""Split a JSON object into its members without changing a character of their values.

Slow and tolerant: for the rare line that the strict decoder rejects although its outer object is
valid.
"""

from __future__ import annotations

import json
import re
from typing import Final

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_BRACKETS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]')
_DEPTH: Final = {"[": 1, "{": 1, "]": -1, "}": -1}
# Numbers are not converted: only the extent of a value matters.
_SCANNER: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


def members(text: str) -> dict[str, str]:
    """Split an object into its members, from names to the exact text of values.

    Raises:
        ValueError: the text is not a single object.
    """
    pieces: dict[str, str] = {}
    at = _expect(text, 0, "{")
    while True:
        name, at = _scan(text, at)
        if not isinstance(name, str) or name in pieces:
            message = "a name must be a string and occur once"
            raise ValueError(message)
        begin = _skip(text, _expect(text, at, ":"))
        at = _end(text, begin)
        pieces[name] = text[begin:at]
        at = _skip(text, at)
        if text[at : at + 1] != ",":
            break
        at += 1
    if _skip(text, _expect(text, at, "}")) != len(text):
        message = "text after the object"
        raise ValueError(message)
    return pieces


def _end(text: str, at: int) -> int:
    try:
        return _scan(text, at)[1]
    except RecursionError:
        # The nesting is too deep for the scanner: count brackets outside strings instead.
        depth = 0
        for mark in _BRACKETS.finditer(text, at):
            depth += _DEPTH.get(mark.group(), 0)
            if depth == 0:
                return mark.end()
        raise


def _scan(text: str, at: int) -> tuple[object, int]:
    return _SCANNER.raw_decode(text, _skip(text, at))


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _expect(text: str, at: int, mark: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != mark:
        message = f"{mark} expected"
        raise ValueError(message)
    return at + 1
