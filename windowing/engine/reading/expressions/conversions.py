"""Types that several values have in common, and what turns each value into it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windowing.engine.reading.expressions.decimals import doubles, half_away, shifted
from windowing.engine.reading.expressions.program import BOOL, Node, Program
from windowing.engine.reading.expressions.vectors import Vector, constant, strict, total
from windowing.engine.reading.expressions.whole import Whole
from windowing.model.types import PRECISION_MAX, FieldType

INT, FLOAT, STRING, TIMESTAMP, DATE = (
    FieldType(kind) for kind in ("int", "float", "string", "timestamp", "date")
)


def decimal(scale: int) -> FieldType:
    """Return the type of decimals of a scale; their digits are counted in their values."""
    return FieldType("decimal", precision=PRECISION_MAX, scale=scale)


def scale_of(kind: FieldType) -> int:
    """Return how many digits follow the point in an exact number; 0 in an int."""
    return kind.scale


def common(types: Sequence[FieldType | None]) -> FieldType | None:
    """Return the type that takes values of all these types; None: all of them are NULL."""
    some = [kind for kind in types if kind is not None]
    kinds = {kind.kind for kind in some}
    if len(kinds) < 2 and kinds != {"decimal"}:
        return some[0] if some else None
    return FLOAT if "float" in kinds else decimal(max(kind.scale for kind in some))


def converted(program: Program, node: Node, to: FieldType) -> Node:
    """Return a node's values as those of a type that it has in common with others."""
    kind = node.type
    if kind == to:
        return node
    if kind is None:
        nothing = constant(None, to)

        def typed(argument: Vector) -> Vector:
            return Vector(nothing.values, argument.null, argument.failed)

        return program.apply(("null", to), typed, [node], to)
    if to == FLOAT:
        if kind == INT:
            return program.apply("double", total(lambda low: low.astype(np.float64)), [node], to)
        return program.apply("double", total(doubles(kind.scale)), [node], to)
    if kind == INT:
        node = program.apply("whole", total(Whole.narrow), [node], decimal(0))
    power = to.scale - scale_of(node.type or BOOL)
    if power == 0:
        return node
    return program.apply(("shift", power), strict(shifted(power, rounding=half_away)), [node], to)


def all_converted(program: Program, nodes: Sequence[Node]) -> tuple[list[Node], FieldType | None]:
    """Return nodes of one type, and that type; those that are always null have any."""
    kind = common([node.type for node in nodes])
    return [converted(program, node, kind or BOOL) for node in nodes], kind
