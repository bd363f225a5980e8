"""The columns of partial states: how they are named, and what merging does with each.

Three kinds of columns stand side by side in a table of partial states, and their names tell them
apart whatever a field is called:

- a key's begin with `=` (`windowing.engine.input.decode.column`);
- a field's states end with `#` and the name of a part, and never begin with `=`;
- all others, `records` and the places of states, have neither.
"""

from __future__ import annotations

import re
from enum import Enum

_ESCAPED = ("=", "\\")
_BIN = re.compile(r"[bs][0-9]{3}")


class Role(Enum):
    """What merging does with a column."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"
    BIN = "bin"
    """A sum that only frames that use it have; elsewhere it is zero."""


_PLAIN = {"records": Role.SUM, "first": Role.MIN, "last": Role.MAX}
_PARTS = {
    **dict.fromkeys(("n", "hi", "lo", "q0", "q1", "q2", "q3"), Role.SUM),
    "min": Role.MIN,
    "max": Role.MAX,
}


def state_column(field: str, part: str) -> str:
    """The column of one part of a field's state.

    Args:
        field: its name, or the names of several; any text.
        part: without a `#`, such as `n` or `b017`.
    """
    escape = "\\" if field.startswith(_ESCAPED) else ""
    return f"{escape}{field}#{part}"


def role_of(column: str) -> Role | None:
    """What merging does with a column; None: it is no number of a state, but a key or a bag."""
    if column in _PLAIN:
        return _PLAIN[column]
    if column.startswith("="):
        return None
    _, mark, part = column.rpartition("#")
    if not mark:
        return None
    return Role.BIN if _BIN.fullmatch(part) else _PARTS.get(part)


def is_bin(column: str) -> bool:
    """Whether a column is a bin."""
    return role_of(column) is Role.BIN


def bins_of(field: str, tag: str, columns: list[str]) -> dict[str, int]:
    """The bins of a field that some columns are, with their numbers.

    Args:
        field: its name.
        tag: `b` for its sum, `s` for the sum of its squares.
        columns: the names.
    """
    begin = state_column(field, tag)
    found = {name: name.removeprefix(begin) for name in columns if name.startswith(begin)}
    return {name: int(digits) for name, digits in found.items() if _BIN.fullmatch(tag + digits)}
