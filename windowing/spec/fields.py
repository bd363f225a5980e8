"""Types of the fields of a record, and the aggregates that a query computes over them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast, get_args

Kind = Literal["int", "float", "string"]
Function = Literal["count", "sum", "mean", "min", "max", "first", "last", "count_distinct"]
"""What the definition knows."""

SUPPORTED: tuple[Function, ...] = ("count", "sum", "mean", "min", "max")
"""What a pipeline may ask for: the others have no accumulator in the engine yet."""

_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(\s*([^()\s]*)\s*\))?\s*")


@dataclass(frozen=True)
class FieldType:
    """A field's type.

    Attributes:
        kind: `int` (64 bits), `float` (binary64, finite) or `string` (Unicode text).
        nullable: written `kind?`; null and absent are then the same legal value.
    """

    kind: Kind
    nullable: bool = False

    def __str__(self) -> str:
        return self.kind + "?" * self.nullable


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a query.

    Attributes:
        name: the column that holds the result.
        function: what is computed; every one but `count` skips nulls, and is null over nothing.
        field: the field it is computed over; None for `count`, which counts records.
    """

    name: str
    function: Function
    field: str | None = None


def parse_field_type(text: object) -> FieldType:
    """Read `int`, `float?`, ….

    Raises:
        ValueError: an unknown type.
    """
    kinds = get_args(Kind)
    if isinstance(text, str):
        kind = text.strip().removesuffix("?")
        if kind in kinds:
            return FieldType(cast("Kind", kind), text.strip().endswith("?"))
    msg = f"{text!r} is not a type: use {', '.join(kinds)}, with ? where null is allowed ('int?')"
    raise ValueError(msg)


def parse_aggregate(name: str, text: object) -> Aggregate:
    """Read `count` or `mean(dep_delay)`.

    Raises:
        ValueError: not of that form, or an unknown function.
    """
    functions = SUPPORTED
    match = _CALL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        msg = f"{text!r} is not an aggregate: write count or a function of a field, as mean(delay)"
        raise ValueError(msg)
    function, field = match.group(1), match.group(2) or None
    if function not in functions:
        msg = f"{function!r} is not an aggregate: use {', '.join(functions)}"
        raise ValueError(msg)
    if (function == "count") != (field is None):
        rule = "count takes no field (it counts records)" if field else f"{function} needs a field"
        msg = f"{text!r}: {rule}, as in {function}" + ("" if field else "(delay)")
        raise ValueError(msg)
    return Aggregate(name, cast("Function", function), field)
