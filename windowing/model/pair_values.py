"""What a row of a join computes: expressions over the fields of both records.

They are written as any expression (`windowing/model/expressions/semantics.md`), with `left.` or
`right.` before each field. The fields of a record that is not there are null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from windowing.model.expressions.check import type_of
from windowing.model.expressions.errors import ExpressionError
from windowing.model.expressions.parse import parse_expression
from windowing.model.expressions.tree import Expression, names_in
from windowing.model.paths import parse_path, spelled
from windowing.model.types import FieldType

FieldOfSide = tuple[Literal["left", "right"], str]
"""A side, and the name of a field of its records."""

_SIDES: Final[Mapping[object, Literal["left", "right"]]] = {"left": "left", "right": "right"}


@dataclass(frozen=True)
class PairExpression:
    """`right.ts - left.ts`.

    Attributes:
        text: as written.
        expression: its names are `left.FIELD` and `right.FIELD`.
    """

    text: str
    expression: Expression

    @property
    def fields(self) -> tuple[FieldOfSide, ...]:
        """The fields that it needs, each once."""
        paths = (parse_path(name.name) for name in names_in(self.expression))
        return tuple(dict.fromkeys((_SIDES[path[0]], spelled(path[1:])) for path in paths))

    def type_in(self, known: Mapping[str, FieldType]) -> FieldType:
        """Return the type of its values.

        Args:
            known: the types of both records' fields, as `left.FIELD` and `right.FIELD`.

        Raises:
            ExpressionError: an operand has another type than its operator takes.
        """
        return type_of(self.expression, known, self.text)


def parse_pair_expression(text: str) -> PairExpression:
    """Parse an expression over the fields of two records.

    Raises:
        ExpressionError: it is none, or names something else than a field of one of the records.
    """
    expression = parse_expression(text)
    for name in names_in(expression):
        path = () if name.name.startswith("$") else parse_path(name.name)
        if len(path) < 2 or path[0] not in _SIDES or not isinstance(path[1], str):
            msg = f"{name.name} names no field of one of the records: write left.FIELD or "
            raise ExpressionError(msg + "right.FIELD, without metadata", text, name.at)
    return PairExpression(text, expression)
