"""Paths to values inside a record: `card.country`, `items[0].sku`, `"a.b"`.

A path is a tuple of keys (text) and places in arrays (0-based). Its spelling is its name: of the
field that it declares, and of columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

Path = tuple[str | int, ...]

QUOTED: Final = r'"(?:[^"]|"")*"'
"""A pattern of keys in double quotes."""

PATH: Final = (
    rf"(?:{QUOTED}|[A-Za-z_][A-Za-z0-9_-]*)"
    rf"(?:\.(?:{QUOTED}|[A-Za-z0-9_-]*)|\[[0-9]{{1,9}}\])*"
)
"""A pattern of names in texts: what is not plain there stands in double quotes."""

_IN_TEXT = re.compile(PATH)
_PIECE = re.compile(rf"{QUOTED}|[^,\"]+|[,\"]")

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


def canonical(name: str) -> str:
    """Return the spelling of a path without needless quotes, by which fields are known.

    Raises:
        ValueError: it is no path.
    """
    return spelled(parse_path(name))


def named(name: str) -> str:
    """Return the field that a name in a text means; a name that is no path stays as it is."""
    try:
        return canonical(name)
    except ValueError:
        return name


def in_text(name: str) -> str:
    """Return a field's name as texts have it: quoted as far as needed."""
    if _IN_TEXT.fullmatch(name):
        return name
    parts = list[str]()
    for step in parse_path(name):
        quoted = "" if isinstance(step, int) else '"' + step.replace('"', '""') + '"'
        parts.append(f"[{step}]" if isinstance(step, int) else "." * bool(parts) + quoted)
    return "".join(parts)


def member_name(name: str) -> str:
    """Return how a field is called in a value; of one inside of others, its path."""
    path = parse_path(name)
    return str(path[0]) if len(path) == 1 else name


def split_names(text: str) -> list[str]:
    """Split a text at its commas, except at those in double quotes."""
    parts = [""]
    for piece in _PIECE.findall(text):
        parts += [""] if piece == "," else []
        parts[-1] += piece if piece != "," else ""
    return [part.strip() for part in parts] if text.strip() else []


def check_once(fields: object) -> object:
    """Check that no two spellings among the keys of a mapping mean the same field.

    Raises:
        ValueError: two do.
    """
    found = dict[str, str]()
    for name in fields if isinstance(fields, Mapping) else ():
        other = found.setdefault(named(name), name) if isinstance(name, str) else name
        if other != name:
            msg = f"{name!r} and {other!r} are the same field: take one out"
            raise ValueError(msg)
    return fields


class InsideAnother(ValueError):
    """A field that cannot be one beside another field.

    Attributes:
        name: of the field.
    """

    def __init__(self, name: str, message: str) -> None:
        self.name = name
        super().__init__(message)


def check_apart(names: Iterable[str]) -> None:
    """Check that no field is inside another one, which would have to be an object.

    Raises:
        InsideAnother: one is.
    """
    paths, kinds = dict[Path, str](), dict[Path, type]()
    for name in names:
        paths[parse_path(name)] = name
    for path, name in paths.items():
        for place, step in enumerate(path):
            if kinds.setdefault(path[:place], type(step)) is not type(step):
                msg = (
                    f"{name!r}: {spelled(path[:place])} cannot be an object for one field, and an "
                    "array for another: take one out"
                )
                raise InsideAnother(name, msg)
        outer = next((paths[path[:n]] for n in range(1, len(path)) if path[:n] in paths), None)
        if outer is not None:
            msg = (
                f"{name!r} is inside of {outer!r}, which is a field itself, and no object: take "
                f"one out, or write '\"{name}\"' if the dot belongs to the name"
            )
            raise InsideAnother(name, msg)
