"""The tree of an expression: three kinds of nodes, without types.

Engine and definition share this tree and nothing else; each infers types and evaluates by itself.
What functions mean is in `semantics.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from windowing.model.types import FieldType
from windowing.model.zones import Zone

Detail = str | int | Zone


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal.

    Attributes:
        value: as `windowing.model.types` has values; None: NULL.
        type: its type; None: of NULL, which fits every type.
        at: where it begins in the text, from 0.
    """

    value: int | float | str | bool | Decimal | None
    type: FieldType | None
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A field, a derived field, or a record's metadata.

    Attributes:
        name: as declared: a path (`windowing.model.paths.spelled`), or `$timestamp` and its like.
        at: where it begins in the text, from 0.
    """

    name: str
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator.

    Attributes:
        function: its name in `semantics.md`.
        detail: what is fixed when the expression is parsed: a unit, a zone, a pattern.
        to: the type that `cast` casts to.
        at: where it begins in the text, from 0.
    """

    function: str
    arguments: tuple[Expression, ...]
    detail: tuple[Detail, ...] = ()
    to: FieldType | None = None
    at: int = field(default=0, compare=False)

    @property
    def places(self) -> int:
        """To how many digits behind the point `round` rounds; of other functions 0."""
        first = self.detail[0] if self.function == "round" else 0
        return first if isinstance(first, int) else 0


Expression = Constant | Name | Call


def names_in(expression: Expression) -> Iterator[Name]:
    """Return every name in an expression, in its order, as often as it stands there."""
    if isinstance(expression, Name):
        yield expression
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from names_in(argument)
