"""Paths to values inside a record: `card.country`, `items[0].sku`, `"a.b"`.

A path is a tuple of keys (text) and places in arrays (0-based). Its spelling is its name: of the
field that it declares, and of columns.
"""

from __future__ import annotations

import re

Path = tuple[str | int, ...]

_STEP = re.compile(r'\.?(?:"((?:[^"]|"")*)"|([^."\[\]]+))|\[([0-9]{1,9})\]')


def parse_path(text: str) -> Path:
    """Parse a path; a quoted key may contain anything, a quotation mark being written twice.

    Raises:
        ValueError: it is none.
    """
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        dotted = text[at] == "."
        if (
            match is None
            or (match[3] is None and dotted != bool(steps))
            or (match[3] and not steps)
        ):
            msg = (
                f"{text!r} is not a path (see character {at + 1}): write names with dots between "
                "them, places in arrays in brackets, and names with a dot in double quotes, as "
                "card.country, items[0].sku or '\"a.b\"'"
            )
            raise ValueError(msg)
        quoted, plain, place = match.groups()
        if place is not None:
            steps.append(int(place))
        else:
            steps.append(plain if quoted is None else quoted.replace('""', '"'))
        at = match.end()
    return tuple(steps)


def spelled(path: Path) -> str:
    """Return the spelling of a path that `parse_path` reads; plain names stay as they are."""
    parts = list[str]()
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
            continue
        plain = step and not re.search(r'[."\[\]]', step)
        text = step if plain else '"' + step.replace('"', '""') + '"'
        parts.append(f".{text}" if parts else text)
    return "".join(parts)
