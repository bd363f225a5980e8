"""Of what kind a value of an expression is, where the value alone does not tell.

A null, and what `case` did not choose, leave no trace in the value that is given; microseconds look
like any int, and dates like any text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from windowing.model.expressions.tree import Call, Constant, Expression, Name
from windowing.model.rows import Scalar
from windowing.model.types import FieldType, Kind
from windowing.semantics.expressions.numbers import decimal, nearest

_GIVES: Mapping[str, Kind] = {
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "in", "between", "like"), "bool"),
    **dict.fromkeys(("and", "or", "not", "is_null", "starts_with"), "bool"),
    **dict.fromkeys(("||", "lower", "upper", "trim", "substr"), "string"),
    **dict.fromkeys(("length", "div", "mod", "extract"), "int"),
    **dict.fromkeys(("date_trunc", "add_interval"), "timestamp"),
}
_CHOOSING = ("coalesce", "least", "greatest")
_SAME = ("negate", "abs", "nullif")


@dataclass(frozen=True, slots=True)
class Typed:
    """A kind, and of decimals the digits after the point."""

    kind: Kind
    scale: int = 0


def typed(expression: Expression, types: Mapping[str, FieldType]) -> Typed | None:
    """Return what an expression is; None: nothing but NULL."""
    if isinstance(expression, Constant):
        type_ = expression.type
        return None if type_ is None else Typed(type_.kind, type_.scale)
    if isinstance(expression, Name):
        return Typed(types[expression.name].kind, types[expression.name].scale)
    call, arguments = expression.function, expression.arguments
    if call in _GIVES:
        return Typed(_GIVES[call])
    if expression.to is not None:
        return Typed(expression.to.kind, expression.to.scale)
    if call == "case":
        return in_common(typed(one, types) for one in (*arguments[1::2], arguments[-1]))
    if call in _CHOOSING:
        return in_common(typed(one, types) for one in arguments)
    first = typed(arguments[0], types)
    if call in _SAME or (call not in "+-*/" and (first is None or first.kind != "decimal")):
        return first
    if call in ("floor", "ceil", "round"):
        assert first is not None  # noqa: S101 - else it was returned
        return Typed("decimal", max(0, min(first.scale, expression.places)))
    return _of_arithmetic(expression, first, typed(arguments[1], types))


def _of_arithmetic(call: Call, first: Typed | None, second: Typed | None) -> Typed | None:
    left, right = first or second, second or first
    if left is None or right is None:
        return None
    kinds = {left.kind, right.kind}
    if "float" in kinds or (call.function == "/" and kinds == {"int"}):
        return Typed("float")
    if "decimal" not in kinds:
        return Typed("int")  # of timestamps too
    if call.function == "*":
        return Typed("decimal", left.scale + right.scale)
    scale = left.scale + 6 if call.function == "/" else max(left.scale, right.scale)
    return Typed("decimal", scale)


def in_common(all_: Iterable[Typed | None]) -> Typed | None:
    """Return what can be any of several; None: all of them are NULL."""
    found = [one for one in all_ if one is not None]
    kinds = {one.kind for one in found}
    if not found:
        return None
    if len(kinds) == 1 and kinds != {"decimal"}:
        return found[0]
    return Typed("float") if "float" in kinds else Typed("decimal", max(one.scale for one in found))


def as_one(value: Scalar, to: Typed | None) -> Scalar:
    """Return a value as one of the kind that it has in common with others."""
    if value is None or isinstance(value, str | bool) or to is None:
        return value
    if to.kind == "float":
        return nearest(value)
    return decimal(Fraction(value), to.scale) if to.kind == "decimal" else value
