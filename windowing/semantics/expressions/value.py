"""The value of an expression for one record: three-valued logic, from left to right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from windowing.model.expressions.tree import Call, Constant, Expression, Name
from windowing.model.rows import Scalar
from windowing.model.types import FieldType
from windowing.semantics.expressions.casts import cast
from windowing.semantics.expressions.failure import ExpressionFailure
from windowing.semantics.expressions.kinds import Typed, as_one, in_common, typed
from windowing.semantics.expressions.numbers import (
    calculate,
    compare,
    floor_divided,
    negated,
    rounded,
    to_whole,
    whole,
)
from windowing.semantics.expressions.times import extracted, truncated

_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_UPPER = str.maketrans(_CAPITALS.lower(), _CAPITALS)
_LOWER = str.maketrans(_CAPITALS, _CAPITALS.lower())
_HOLDS: Final[Mapping[str, Callable[[int], bool]]] = {
    "=": lambda order: order == 0,
    "<>": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


def value_of(
    expression: Expression, types: Mapping[str, FieldType], values: Mapping[str, Scalar]
) -> Scalar:
    """Return the value of an expression that has been checked.

    Args:
        types: what its names are.
        values: what they are for this record.

    Raises:
        ExpressionFailure: it has none.
    """
    return _Record(types, values).value(expression)


class _Record:
    def __init__(self, types: Mapping[str, FieldType], values: Mapping[str, Scalar]) -> None:
        self._types, self._values = types, values

    def value(self, node: Expression) -> Scalar:
        if isinstance(node, Constant):
            return node.value
        if isinstance(node, Name):
            return self._values[node.name]
        if node.function == "case":
            return self._case(node)
        # What is not asked for is not evaluated, and cannot fail.
        asked = map(self.value, node.arguments)
        if node.function in ("and", "or"):
            return _decided(asked, by=node.function == "or")
        if node.function == "coalesce":
            found = next((one for one in asked if one is not None), None)
            return as_one(found, self._common(node.arguments))
        operands = [*asked]
        if node.function in ("is_null", "in", "least", "greatest"):
            return self._with_nulls(node, operands)
        if node.function == "between":
            x, low, high = operands
            return _decided((_compared(">=", x, low), _compared("<=", x, high)), by=False)
        if node.function == "nullif":
            return None if _compared("=", *operands) else operands[0]
        if any(one is None for one in operands):
            return None
        if node.to is not None:
            kind = typed(node.arguments[0], self._types)
            assert kind is not None  # noqa: S101 - a value is not NULL
            return cast(operands[0], kind.kind, node.to)  # type: ignore[arg-type]
        return _CALLS[node.function](*operands, *node.detail)

    def _with_nulls(self, node: Call, operands: list[Scalar]) -> Scalar:
        if node.function == "is_null":
            return operands[0] is None
        if node.function == "in":
            return _decided((_compared("=", operands[0], one) for one in operands[1:]), by=True)
        common = self._common(node.arguments)
        best: Scalar = None
        for operand in operands:
            one = as_one(operand, common)
            better = "<" if node.function == "least" else ">"
            if best is None or _compared(better, one, best):
                best = one
        return best

    def _case(self, node: Call) -> Scalar:
        *pairs, otherwise = node.arguments
        results = (*pairs[1::2], otherwise)
        holds = (number for number, one in enumerate(pairs[::2]) if self.value(one) is True)
        return as_one(self.value(results[next(holds, -1)]), self._common(results))

    def _common(self, nodes: Iterable[Expression]) -> Typed | None:
        return in_common(typed(one, self._types) for one in nodes)


def _decided(operands: Iterable[Scalar], *, by: bool) -> Scalar:
    """Return `or` (by True) or `and` (by False), and ask for no more operands than decide it."""
    unknown = False
    for one in operands:
        if one is by:
            return by
        unknown = unknown or one is None
    return None if unknown else not by


def _compared(operator: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, str | bool):
        return _HOLDS[operator]((left > right) - (left < right))
    return _HOLDS[operator](compare(left, right))


def _like(text: str, pattern: str) -> bool:
    wild = {"%": ".*", "_": "."}
    parts = (wild.get(sign) or re.escape(sign) for sign in pattern)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def _substr(text: str, first: int, most: int | None = None) -> str:
    if first < 1 or (most is not None and most < 0):
        raise ExpressionFailure("from is below 1, or the length below 0")
    return text[first - 1 :] if most is None else text[first - 1 : first - 1 + most]


_CALLS: Final[Mapping[str, Callable[..., Scalar]]] = {
    **{name: partial(calculate, name) for name in ("+", "-", "*", "/")},
    **{name: partial(floor_divided, name) for name in ("div", "mod")},
    **{name: partial(_compared, name) for name in _HOLDS},
    "not": lambda held: not held,
    "negate": negated,
    "abs": lambda number: negated(number) if number < 0 else number,
    "floor": partial(to_whole, up=False),
    "ceil": partial(to_whole, up=True),
    "round": rounded,
    "like": _like,
    "||": lambda first, second: first + second,
    "lower": lambda text: text.translate(_LOWER),
    "upper": lambda text: text.translate(_UPPER),
    "length": len,
    "substr": _substr,
    "trim": lambda text: text.strip(" "),
    "starts_with": str.startswith,
    "date_trunc": truncated,
    "extract": extracted,
    "add_interval": lambda us, length: whole(us + length),
}
"""Calls of which no operand is null, by their operands and then their details."""
