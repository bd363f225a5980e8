"""The members of uniform values, as one of them shows them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from windowing.engine.columns import WRITTEN_TIME, field_column
from windowing.engine.loops.shapes import (
    ARRAY,
    ARRAY_END,
    DECIMAL,
    FLAG,
    IGNORED,
    INTEGER,
    NOTHING,
    NULLABLE,
    NUMBER,
    OBJECT,
    OBJECT_END,
    REST,
    TEXT,
)
from windowing.engine.reading.paths import Tree
from windowing.engine.reading.rules import ValueRules, may_be_null
from windowing.model.times import Spelling
from windowing.model.types import FieldType

# Names that are written as they are.
_PLAIN = re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]*')
_KIND: Final = {
    "int": INTEGER,
    "float": NUMBER,
    "string": TEXT,
    "bool": FLAG,
    "decimal": DECIMAL,
    "date": TEXT,
}


@dataclass(frozen=True)
class Member:
    """One member of the values, or of what is inside of them; or where such parts begin or end.

    Attributes:
        kind: of `windowing.engine.loops.shapes`.
        name: as it is written between quotes, without escapes; None: it has none.
        follows: it stands behind a comma.
        column: the column that it is read into; None: it is only checked.
        type_: of a decimal; None: of others, the kind says it.
        spelling: of a time that is no integer in a unit.
    """

    kind: int
    name: str | None = None
    follows: bool = False
    column: str | None = None
    type_: FieldType | None = None
    spelling: Spelling | None = None


class _NoLayoutError(Exception):
    """A value shows no layout by which others could be read."""


def members_of(value: bytes | None, rules: ValueRules) -> tuple[Member, ...] | None:
    """Return the members of a value, in its order; None: it shows no layout."""
    try:
        record = json.loads((value or b"").decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not _reads_time(rules):
        return None
    if not rules.ignore_unknown and not all(map(rules.known, record)):
        return None
    try:
        members = tuple(_inside(record, rules.tree, rules, None, follows=False))
    except _NoLayoutError:
        return None
    reached = {member.column for member in members}
    absent = (n for n in rules.fields if field_column(n) not in reached)
    legal = all(rules.fields[name].nullable or name == rules.event_time.field for name in absent)
    timed = rules.time is not None or WRITTEN_TIME in reached
    return members if legal and timed else None


def shows_all(members: tuple[Member, ...]) -> bool:
    """Whether nothing that others may have is null."""
    return all(member.kind != NOTHING for member in members)


def _reads_time(rules: ValueRules) -> bool:
    """Whether the event time, which may be a declared field, too, is read as both."""
    time = rules.event_time
    if time.field not in rules.fields or rules.fields[time.field].kind == "timestamp":
        return True
    return time.spelling.is_scaled and rules.fields[time.field].kind == "int"


def _inside(
    value: dict[str, Any] | list[Any],
    tree: Tree,
    rules: ValueRules,
    name: str | None,
    *,
    follows: bool,
) -> Iterator[Member]:
    """Yield where an object or an array begins, what is inside of it, and where it ends."""
    begin, end = (OBJECT, OBJECT_END) if isinstance(value, dict) else (ARRAY, ARRAY_END)
    nullable = NULLABLE if name is not None or follows else 0
    yield Member(begin | (nullable if may_be_null(tree, rules) else 0), name, follows)
    if isinstance(value, dict):
        for place, (key, item) in enumerate(value.items()):
            if not _PLAIN.fullmatch(key):
                raise _NoLayoutError
            yield from _member(item, tree.get(key), rules, key, follows=place > 0)
    else:
        last = max(step for step in tree if isinstance(step, int))
        for place, item in enumerate(value[: last + 1]):
            yield from _member(item, tree.get(place), rules, None, follows=place > 0)
        if len(value) > last:
            yield Member(REST)
    yield Member(end)


def _member(
    value: Any, wanted: Tree | str | None, rules: ValueRules, name: str | None, *, follows: bool
) -> Iterator[Member]:
    if wanted is None:
        yield Member(IGNORED, name, follows)
    elif isinstance(wanted, str):
        yield _field(wanted, rules, name, follows=follows)
    elif value is None:
        if not may_be_null(wanted, rules):
            raise _NoLayoutError
        yield Member(NOTHING, name, follows)
    elif isinstance(value, dict if isinstance(next(iter(wanted)), str) else list):
        yield from _inside(value, wanted, rules, name, follows=follows)
    else:
        raise _NoLayoutError


def _field(field: str, rules: ValueRules, name: str | None, *, follows: bool) -> Member:
    spelling = rules.event_time.spelling
    if field == rules.event_time.field:
        kind = INTEGER if spelling.is_scaled else _time_kind(spelling)
        own = None if spelling.is_scaled else spelling
        return Member(kind, name, follows, WRITTEN_TIME, spelling=own)
    type_, column = rules.fields[field], field_column(field)
    nullable = NULLABLE if type_.nullable else 0
    if type_.kind == "timestamp":
        kind = _time_kind(spelling) | nullable
        return Member(kind, name, follows, column, spelling=spelling)
    digits = type_ if type_.kind == "decimal" else None
    return Member(_KIND[type_.kind] | nullable, name, follows, column, digits)


def _time_kind(spelling: Spelling) -> int:
    return TEXT if spelling.is_text else NUMBER
