"""Expressions as programs: a list of operations on vectors, each computed once per table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from windowing.engine.columns import field_column
from windowing.engine.reading.expressions.vectors import Vector, constant, loaded, stored
from windowing.model.expressions.tree import Call, Constant, Expression, Name
from windowing.model.types import PRECISION_MAX, FieldType

Kernel: TypeAlias = Callable[..., Vector]

BOOL: Final = FieldType("bool")


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What an expression is in the rows of a table.

    Attributes:
        values: as `windowing.model.types` has them in columns; null also where there is none.
        failed: where it could not be evaluated.
    """

    values: pl.Series
    failed: pl.Series


@dataclass(frozen=True, slots=True)
class Node:
    """A place in a program, whose vector is computed before those that use it.

    Attributes:
        type: of its values, by kind and scale; None: it is always null, of any type.
    """

    place: int
    type: FieldType | None


Operation: TypeAlias = Callable[["Program", Call, list[Node]], Node]
"""What adds a call to a program, whose arguments are there."""


class Program:
    """Expressions over the same fields. What they have in common is computed once.

    What does not depend on a field is computed when it is added.
    """

    def __init__(self, known: Mapping[str, FieldType], operations: Mapping[str, Operation]) -> None:
        self._known = {name: _typed(kind) for name, kind in known.items()}
        self._operations = operations
        self._nodes = dict[Hashable, Node]()
        self._constants = dict[int, Vector]()
        self._fields = list[tuple[int, str, FieldType]]()
        self._steps = list[tuple[int, Kernel, tuple[int, ...]]]()
        self._results = list[Node]()

    def add(self, expression: Expression, name: str | None = None) -> None:
        """Add an expression.

        Args:
            name: of the derived field that it is, for expressions that are added after it.
        """
        node = self.node_of(expression)
        self._results.append(node)
        if name is not None:
            self._known.pop(name, None)
            self._nodes["field", name] = node

    def run(self, frame: pl.DataFrame) -> list[Evaluated]:
        """Evaluate all expressions over a table that has the columns of their fields."""
        vectors: list[Any] = [None] * len(self._nodes)
        for place, vector in self._constants.items():
            vectors[place] = vector
        for place, name, kind in self._fields:
            vectors[place] = loaded(frame[field_column(name)], kind)
        with np.errstate(all="ignore"):
            for place, kernel, arguments in self._steps:
                vectors[place] = kernel(*[vectors[argument] for argument in arguments])
        rows = frame.height
        return [
            Evaluated(*stored(vectors[node.place], node.type or BOOL, rows))
            for node in self._results
        ]

    def node_of(self, expression: Expression) -> Node:
        """Return the place of an expression, which is computed from now on."""
        if isinstance(expression, Constant):
            return self.constant(expression.value, expression.type)
        if isinstance(expression, Name):
            return self._field(expression.name)
        arguments = [self.node_of(argument) for argument in expression.arguments]
        return self._operations[expression.function](self, expression, arguments)

    def constant(self, value: Any, kind: FieldType | None) -> Node:
        """Return the place of a constant; without a type, of NULL."""
        kind = kind and _typed(kind)
        node, is_new = self._placed(("constant", kind, value is None, str(value)), kind)
        if is_new:
            self._constants[node.place] = constant(value, kind or BOOL)
        return node

    def apply(
        self, key: Hashable, kernel: Kernel, arguments: Sequence[Node], kind: FieldType | None
    ) -> Node:
        """Return the place of a kernel's result.

        Args:
            key: what tells it from other kernels.
        """
        places = tuple(node.place for node in arguments)
        node, is_new = self._placed((key, places), kind)
        if not is_new:
            return node
        if all(place in self._constants for place in places):
            with np.errstate(all="ignore"):
                vector = kernel(*(self._constants[place] for place in places))
            self._constants[node.place] = vector
        else:
            self._steps.append((node.place, kernel, places))
        return node

    def _field(self, name: str) -> Node:
        kind = self._known.get(name)
        if kind is None:
            return self._nodes["field", name]
        node, is_new = self._placed(("field", name), kind)
        if is_new:
            self._fields.append((node.place, name, kind))
        return node

    def _placed(self, key: Hashable, kind: FieldType | None) -> tuple[Node, bool]:
        node = self._nodes.get(key)
        if node is not None:
            return node, False
        self._nodes[key] = node = Node(len(self._nodes), kind)
        return node, True


def _typed(kind: FieldType) -> FieldType:
    """Return a type by kind and scale: whether it is nullable does not matter."""
    precision = PRECISION_MAX if kind.kind == "decimal" else 0
    return FieldType(kind.kind, precision=precision, scale=kind.scale)
