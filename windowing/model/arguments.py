"""Expressions as arguments of aggregates: `sum(price * quantity)`, `count where ok`.

Each becomes a field that the source computes last, so that all else sees aggregates of fields only.
`sum(x) where c` is a sum of `CASE WHEN c THEN x END`: aggregates skip nulls. Those that do not,
`any` and `all`, also get the condition as a second field, which tells a null from what is not
taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from windowing.model.computed import Computation, plain_name
from windowing.model.errors import shown
from windowing.model.expressions.parse import parse_expression
from windowing.model.expressions.tree import Call, Constant, Expression, Name
from windowing.model.fields import Aggregate, check_aggregate, parse_aggregate
from windowing.model.functions import TRUTHS
from windowing.model.metadata import is_known_metadata, is_metadata
from windowing.model.source import Source
from windowing.model.types import FieldType

_FUNCTION: Final = re.compile(r"\s*((?:python:)?[\w.:]+?)\s*(?=\(|$|\s(?i:where)\s)")
_WHERE: Final = re.compile(r"\s*(?i:where)\b(.*)", re.DOTALL)
_PIECE: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[()\[\],]|[^'"()\[\],]+|['"]""")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?\s*%?")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*")
_STAND_IN: Final = "argument_"


class _Call(NamedTuple):
    """An aggregate as written.

    Attributes:
        arguments: None: it has no parentheses.
        where: the condition; None: it has none.
    """

    function: str
    arguments: list[str] | None
    where: str | None


@dataclass(frozen=True)
class Resolved:
    """An aggregate of fields, and those among them that the source has to compute for it."""

    aggregate: Aggregate
    computed: tuple[Computation, ...] = ()


def resolve_aggregate(name: str, text: object, known: Mapping[str, FieldType]) -> Resolved:
    """Parse an aggregate whose arguments may be expressions.

    Args:
        known: the fields of the source.

    Raises:
        ValueError: it is none; or an expression uses an unknown name, or a wrong type.
    """
    call = _split(text) if isinstance(text, str) else None
    if call is None or _is_plain(call, known):
        return Resolved(parse_aggregate(name, text))
    condition = _condition(call.where, known)
    values = [*(call.arguments or [])]
    if not values and call.function == "count":
        values = ["1"]
    fields, written = list[str](), list[str]()
    computed = list[Computation]()
    for place, value in enumerate(values):
        if place and _NUMBER.fullmatch(value):
            written.append(value)
            continue
        # Of two, the first decides whether a record counts.
        only = condition if place == 0 or call.function.startswith("python:") else None
        field = _field(value, only, known)
        if isinstance(field, Computation):
            computed.append(field)
        fields.append(field.name if isinstance(field, Computation) else field)
        written.append(f"{_STAND_IN}{len(fields)}")
    parsed = parse_aggregate(name, f"{call.function}({', '.join(written)})")
    if condition is not None and parsed.function in TRUTHS:
        taken = _field(condition.text, None, known)
        if isinstance(taken, Computation):
            computed.append(taken)
        fields.append(taken.name if isinstance(taken, Computation) else taken)
    return Resolved(replace(parsed, field=fields[0], more=tuple(fields[1:])), tuple(computed))


def checked_aggregate(name: str, text: object, source: Source) -> Aggregate:
    """Parse an aggregate, and check its fields, which the source has or computes.

    Raises:
        ValueError: it breaks a rule; or it is of a query that begins later, and no other one has
            its expression.
    """
    found = resolve_aggregate(name, text, source.named)
    for one in found.computed:
        if one.name not in source.fields:
            msg = (
                f"{shown(text)}: a query that begins later has no expression of its own, as that "
                f"would decide about earlier records: derive it, as derive: {{x: {one.text!r}}}"
            )
            raise ValueError(msg)
    check_aggregate(found.aggregate, source.fields)
    return found.aggregate


def _is_plain(call: _Call, known: Mapping[str, FieldType]) -> bool:
    """Return whether a call is of fields and numbers only, or of what looks like a field."""
    return call.where is None and all(
        value in known or _IDENTIFIER.fullmatch(value) or _NUMBER.fullmatch(value) or not value
        for value in call.arguments or []
    )


def _field(
    value: str, condition: Computation | None, known: Mapping[str, FieldType]
) -> Computation | str:
    """Return the field of an argument, or what computes it."""
    one = Computation("argument", f"({value})", value, _parsed(value, known)).typed(known)
    name = plain_name(one.expression)
    if condition is None:
        return one if name is None else name
    call = Call("case", (condition.expression, one.expression, Constant(None, None)))
    return replace(
        one,
        name=f"({value} where {condition.text})",
        text=f"{value} where {condition.text}",
        expression=call,
        type=replace(one.type, nullable=True),
    )


def _parsed(value: str, known: Mapping[str, FieldType]) -> Expression:
    return Name(value) if value in known else parse_expression(value)


def _condition(text: str | None, known: Mapping[str, FieldType]) -> Computation | None:
    if text is None:
        return None
    text = text.strip()
    return Computation("where", "where", text, parse_expression(text)).typed(known)


def _split(text: str) -> _Call | None:
    """Return the parts of an aggregate; None: it has not this form."""
    begins = _FUNCTION.match(text)
    if begins is None:
        return None
    function, rest = begins[1], text[begins.end() :]
    arguments = None
    if rest.startswith("("):
        found = _arguments(rest)
        if found is None:
            return None
        arguments, rest = found
    if not rest.strip():
        return _Call(function, arguments, None)
    where = _WHERE.fullmatch(rest)
    return None if where is None else _Call(function, arguments, where[1])


def _arguments(text: str) -> tuple[list[str], str] | None:
    """Return the arguments in the parentheses that a text begins with, and what follows."""
    parts, depth = [""], 0
    for piece in _PIECE.finditer(text):
        found = piece[0]
        depth += (found in ("(", "[")) - (found in (")", "]"))
        if depth == 0:
            given = [part.strip() for part in parts]
            return ([] if given == [""] else given), text[piece.end() :]
        if found == "," and depth == 1:
            parts.append("")
        elif piece.start():
            parts[-1] += found
    return None


def of_queries(
    queries: Iterable[Any], known: Mapping[str, FieldType]
) -> tuple[list[Computation], list[str]]:
    """Return what queries have a source compute, and the metadata that they name.

    Mistakes are left to those who resolve each query. Queries that begin later have nothing
    computed that others have not: what is wrong with a value does not depend on them.

    Args:
        queries: as written.
        known: the fields of the source.
    """
    computed, named = list[Computation](), list[str]()
    for query in queries:
        for part in getattr(query, "steps", [query]):
            named += filter(is_known_metadata, _names(part))
            for name, text in part.aggregates.items():
                found = _resolved(name, text, known)
                named += filter(is_metadata, () if found is None else found.aggregate.fields)
                if found is not None and getattr(query, "begins_us", None) is None:
                    computed += found.computed
    return computed, named


def _resolved(name: str, text: object, known: Mapping[str, FieldType]) -> Resolved | None:
    try:
        return resolve_aggregate(name, text, known)
    except ValueError:
        return None


def _names(part: Any) -> Iterator[str]:
    """Yield the names that a query or one of its steps groups or sorts by."""
    by: Sequence[str] = getattr(part, "by", ())
    yield from part.group_by
    yield from (text.split()[0] for text in by if text.strip())
