"""Parts of a value that is JSON, by their paths, with the exact text of all others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from chaos.readers.envelope import elements, members
from windowing.model.paths import Path

Change = Callable[[str], str]
"""From the text of a part to that which takes its place."""

_NULL = "null"


class NoJson(ValueError):
    """A value that is no JSON, or has a name twice, so that nobody knows what is in it."""


def changed(text: str, path: Path, change: Change, astray: Change | None = None) -> str:
    """Return a value with another part at a path; what is absent or null stays so.

    Args:
        astray: changes what is on the way where an object or an array should be; None: `change`.

    Raises:
        NoJson: the text is none.
    """
    text = text.strip(" \t\r\n")
    if text == _NULL:
        return text
    if not path:
        return change(text)
    step, rest = path[0], path[1:]
    try:
        if isinstance(step, str) and text.startswith("{"):
            of_names = members(text)
            if step not in of_names:
                return text
            of_names[step] = changed(of_names[step], rest, change, astray)
            return _braced("{", (f"{json.dumps(k)}:{v}" for k, v in of_names.items()), "}")
        if isinstance(step, int) and text.startswith("["):
            of_places = elements(text)
            if step >= len(of_places):
                return text
            of_places[step] = changed(of_places[step], rest, change, astray)
            return _braced("[", of_places, "]")
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoJson(str(error)) from None
    return (astray or change)(text)


def _braced(left: str, parts: Iterable[str], right: str) -> str:
    return left + ",".join(parts) + right


def part_of(text: str, path: Path) -> str | None:
    """Return the text of a part; None: it is absent or null, or its path leads nowhere.

    A JSON string is returned as what it says.
    """
    found: list[str] = []

    def keep(part: str) -> str:
        found.append(part)
        return part

    try:
        changed(text, path, keep, lambda other: other)
    except NoJson:
        return None
    return said(found[0]) if found else None


def said(text: str) -> str:
    """Return what a JSON string says; any other JSON as it is."""
    return str(json.loads(text)) if text.startswith('"') else text
