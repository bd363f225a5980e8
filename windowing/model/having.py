"""`having: "n > 10 AND mean_delay > 5"`: which rows of a query are sent, by what they show."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator

from windowing.model.errors import shown
from windowing.model.expressions.check import type_of
from windowing.model.expressions.errors import ExpressionError
from windowing.model.expressions.parse import parse_expression
from windowing.model.expressions.tree import Expression, names_in
from windowing.model.fields import ValueType
from windowing.model.types import FieldType


@dataclass(frozen=True)
class Having:
    """A condition on a row: null does not hold, nor does an evaluation that fails.

    Attributes:
        text: as written.
    """

    text: str
    expression: Expression

    def uses(self, names: Collection[str]) -> bool:
        """Return whether it names one of these."""
        return any(used.name in names for used in names_in(self.expression))

    def types(
        self, key: Mapping[str, FieldType], values: Mapping[str, ValueType]
    ) -> dict[str, FieldType]:
        """Return the types of the names that stand in it, which may be null.

        Args:
            key: the types of the key's fields.
            values: the types of the aggregates.

        Raises:
            ExpressionError: a name is unknown or a list, or the whole is not true or false.
        """
        used = [*names_in(self.expression)]
        for one in used:
            if one.name in values and values[one.name].many:
                msg = (
                    f"{one.name} is {values[one.name]}, and having compares single values: "
                    "aggregate what you ask for, as max(delay)"
                )
                raise ExpressionError(msg, self.text, one.at)
        known = {**key}
        for name, type_ in values.items():
            if not type_.many:
                known[name] = FieldType(type_.kind, True, type_.precision, type_.scale)
        found = type_of(self.expression, known, self.text)
        if found.kind != "bool":
            msg = f"this is {found}, and having is true or false: compare it, as n > 10"
            raise ExpressionError(msg, self.text, self.expression.at)
        return {one.name: known[one.name] for one in used}


def parse_having(text: str) -> Having:
    """Parse a condition; its names and types are not checked yet.

    Raises:
        ValueError: it is no expression.
    """
    return Having(text, parse_expression(text))


def _text(value: object) -> object:
    if value is None:
        return None
    if isinstance(value, bool | int | float):
        value = str(value).lower()
    if not isinstance(value, str):
        msg = f"{shown(value)} is not a condition: write it as text, as having: 'n > 10'"
        raise ValueError(msg)
    return value


HavingText = Annotated[Any, BeforeValidator(_text)]
