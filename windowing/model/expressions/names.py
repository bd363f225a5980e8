"""Names in expressions: paths to fields, and a record's metadata."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from windowing.model.errors import meant
from windowing.model.expressions.errors import known
from windowing.model.expressions.tokens import Token
from windowing.model.expressions.tree import Name
from windowing.model.paths import Path, parse_path, spelled

METADATA: Final = ("$timestamp", "$append", "$key", "$headers", "$topic", "$partition", "$offset")
"""What Kafka says of a record; headers have a name behind a point."""

RESERVED: Final = frozenset(
    (
        *("and", "or", "not", "is", "null", "in", "between", "like", "true", "false"),
        *("case", "when", "then", "else", "end", "from", "as"),
    )
)
"""Words that stand in double quotes if they are names."""

_PLAIN = re.compile(r"[^\W\d]\w*")


def name_of(pieces: Sequence[Token]) -> Name:
    """Return the name that stands in an expression.

    Args:
        pieces: its words and keys, points, and places in brackets.

    Raises:
        ValueError: metadata that do not exist, or a quoted key that would be taken for them.
    """
    first = pieces[0]
    path: Path = tuple(
        int(piece.text) if piece.kind == "number" else piece.text
        for piece in pieces
        if piece.kind != "sign"
    )
    if not first.text.startswith("$"):
        return Name(spelled(path), first.at)
    if first.kind == "key":
        msg = f'"{first.text}": names that begin with $ are metadata, without quotes: '
        raise ValueError(msg + ", ".join(METADATA))
    if first.text not in METADATA:
        hint = meant(first.text, METADATA)
        raise ValueError(f"there is no {first.text}{hint}{known(METADATA, hint)}")
    header = first.text == "$headers"
    if len(path) != 1 + header or not isinstance(path[-1], str):
        usage = 'one name behind it, as $headers.tenant or $headers."content-type"'
        msg = f"{spelled(path)}: {first.text} has {usage if header else 'no parts'}"
        raise ValueError(msg)
    return Name(spelled(path), first.at)


def written(name: str) -> str:
    """Return how a declared name is written in an expression, with quotes where they are needed."""
    if name.startswith("$"):
        return name
    parts = list[str]()
    for step in parse_path(name):
        if isinstance(step, int):
            parts.append(f"[{step}]")
            continue
        plain = _PLAIN.fullmatch(step) and (parts or step.lower() not in RESERVED)
        text = step if plain else '"' + step.replace('"', '""') + '"'
        parts.append(f".{text}" if parts else text)
    return "".join(parts)
