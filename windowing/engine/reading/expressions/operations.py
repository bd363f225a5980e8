"""The operators and functions of expressions, as operations on columns, by their names in trees."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from windowing.engine.reading.expressions import (
    arithmetic,
    casts,
    decimals,
    instants,
    logic,
    texts,
)
from windowing.engine.reading.expressions.conversions import (
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    all_converted,
    common,
    converted,
    decimal,
)
from windowing.engine.reading.expressions.program import BOOL, Kernel, Node, Operation, Program
from windowing.engine.reading.expressions.vectors import Computed, strict, total
from windowing.model.expressions.tree import Call
from windowing.model.types import FieldType

_NUMPY: Final[dict[str, Any]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_INTS: Final[dict[str, Any]] = {
    "+": arithmetic.add,
    "-": arithmetic.subtract,
    "*": arithmetic.multiply,
    "div": arithmetic.floor_divide,
    "mod": arithmetic.modulo,
    "negate": arithmetic.negate,
    "abs": arithmetic.absolute,
}
_EXACT: Final[dict[str, Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "negate": operator.neg,
    "abs": operator.abs,
}
_FLOATS: Final = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "negate": np.negative,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
}
_DIVIDED: Final = 6
"""How many digits a quotient of decimals has more than what is divided."""


def _of_bools(kernel: Kernel) -> Operation:
    """Return an operation of bools to a bool."""

    def operation(program: Program, call: Call, arguments: list[Node]) -> Node:
        return program.apply(call.function, kernel, _all(program, arguments, BOOL), BOOL)

    return operation


def _is_null(program: Program, _: Call, arguments: list[Node]) -> Node:
    return program.apply("is_null", logic.is_null, arguments, BOOL)


def _comparison(program: Program, call: Call, arguments: list[Node]) -> Node:
    return _compared(program, call.function, *arguments)


def _compared(program: Program, name: str, left: Node, right: Node) -> Node:
    kind = common([left.type, right.type])
    if kind is not None and kind.kind == "decimal":
        # Each at its own scale: at the common one it might have too many digits.
        sides = [_unscaled(program, node) for node in (left, right)]
        scales = [node.type.scale if node.type else 0 for node in sides]
        powers = [max(scales) - scale for scale in scales]
        kernel = strict(decimals.comparison(_NUMPY[name], *powers))
        return program.apply((name, *powers), kernel, sides, BOOL)
    sides, _ = all_converted(program, [left, right])
    return program.apply(name, _comparing(name, kind), sides, BOOL)


def _comparing(name: str, kind: FieldType | None) -> Kernel:
    """Return the kernel that compares values of one type."""
    if kind is not None and kind.kind in {"string", "date"}:
        return total(texts.compare(_NUMPY[name].__name__))
    return total(_NUMPY[name])


def _unscaled(program: Program, node: Node) -> Node:
    """Return an exact number as a decimal of its own scale."""
    return converted(program, node, decimal(node.type.scale if node.type else 0))


def _in(program: Program, _: Call, arguments: list[Node]) -> Node:
    value, *others = arguments
    equal = [_compared(program, "=", value, other) for other in others]
    return program.apply("in", logic.all_evaluated(logic.disjunction), equal, BOOL)


def _between(program: Program, _: Call, arguments: list[Node]) -> Node:
    value, low, high = arguments
    sides = [_compared(program, ">=", value, low), _compared(program, "<=", value, high)]
    return program.apply("between", logic.all_evaluated(logic.conjunction), sides, BOOL)


def _case(program: Program, _: Call, arguments: list[Node]) -> Node:
    *branches, last = arguments
    conditions = _all(program, branches[::2], BOOL)
    values, kind = all_converted(program, [*branches[1::2], last])
    parts = [part for pair in zip(conditions, values, strict=False) for part in pair]
    return program.apply("case", logic.case, [*parts, values[-1]], kind)


def _coalesce(program: Program, _: Call, arguments: list[Node]) -> Node:
    values, kind = all_converted(program, arguments)
    return program.apply("coalesce", logic.coalesce, values, kind)


def _nullif(program: Program, _: Call, arguments: list[Node]) -> Node:
    equal = _compared(program, "=", *arguments)
    return program.apply("nullif", logic.nullif, [arguments[0], equal], arguments[0].type)


def _extreme(program: Program, call: Call, arguments: list[Node]) -> Node:
    values, kind = all_converted(program, arguments)
    sign = "<" if call.function == "least" else ">"
    if kind is not None and kind.kind == "decimal":
        precedes = strict(decimals.comparison(_NUMPY[sign]))
    else:
        precedes = _comparing(sign, kind)
    return program.apply(call.function, logic.extreme(precedes), values, kind)


def _arithmetic(program: Program, call: Call, arguments: list[Node]) -> Node:
    name = call.function
    kind = common([node.type for node in arguments]) or INT
    if kind == TIMESTAMP:
        return program.apply(name, strict(_INTS[name]), _all(program, arguments, TIMESTAMP), INT)
    if kind == FLOAT or (kind == INT and name == "/"):
        return _of_floats(program, name, _all(program, arguments, FLOAT))
    if kind == INT:
        return program.apply(name, strict(_INTS[name]), _all(program, arguments, INT), INT)
    return _of_decimals(program, name, [_exact_number(program, node, kind) for node in arguments])


def _of_floats(program: Program, name: str, arguments: list[Node]) -> Node:
    kernel = strict(arithmetic.float_operation(_FLOATS[name]))
    return program.apply(name, kernel, arguments, FLOAT)


def _exact_number(program: Program, node: Node, kind: FieldType) -> Node:
    return converted(program, node, kind) if node.type is None else _unscaled(program, node)


def _of_decimals(program: Program, name: str, arguments: list[Node]) -> Node:
    left, right = (node.type.scale if node.type else 0 for node in arguments)
    if name == "/":
        power = _DIVIDED + right
        kernel = strict(decimals.division(power, rounding=decimals.half_away))
        return program.apply((name, power), kernel, arguments, decimal(left + _DIVIDED))
    if name == "*":
        kernel = strict(decimals.operation(_INTS[name], _EXACT[name]))
        return program.apply(name, kernel, arguments, decimal(left + right))
    scale = max(left, right)
    powers = (scale - left, scale - right)
    kernel = strict(decimals.operation(_INTS[name], _EXACT[name], *powers))
    return program.apply((name, *powers), kernel, arguments, decimal(scale))


def _of_ints(program: Program, call: Call, arguments: list[Node]) -> Node:
    name = call.function
    return program.apply(name, strict(_INTS[name]), _all(program, arguments, INT), INT)


def _sized(program: Program, call: Call, arguments: list[Node]) -> Node:
    """`-x`, `abs(x)`."""
    [node], name = arguments, call.function
    if node.type is None:
        return node
    if node.type == FLOAT:
        return _of_floats(program, name, [node])
    if node.type == INT:
        return program.apply(name, strict(_INTS[name]), [node], INT)
    return program.apply(
        name, strict(decimals.operation(_INTS[name], _EXACT[name])), [node], node.type
    )


def _rounded(program: Program, call: Call, arguments: list[Node]) -> Node:
    """`floor(x)`, `ceil(x)`, `round(x, n)`."""
    [node], name = arguments, call.function
    places = call.places
    if node.type is None:
        return node
    if node.type == FLOAT:
        if name != "round":
            return _of_floats(program, name, [node])
        return program.apply((name, places), strict(decimals.rounded_floats(places)), [node], FLOAT)
    if node.type == INT:
        if places >= 0:
            return node
        rounded = _to_places(program, _unscaled(program, node), places, decimals.half_away)
        return casts.to_int(program, rounded, decimal(0))
    rounding = {"floor": decimals.down, "ceil": decimals.up}.get(name, decimals.half_away)
    return _to_places(program, node, places, rounding)


def _to_places(program: Program, node: Node, places: int, rounding: decimals.Rounding) -> Node:
    """Return decimals rounded to so many digits after the point; negative: before it."""
    scale = node.type.scale if node.type else 0
    if places >= scale:
        return node
    power = places - scale
    kernel = strict(decimals.shifted(power, rounding=rounding))
    key = ("shift", power, rounding.__name__)
    rounded = program.apply(key, kernel, [node], decimal(max(places, 0)))
    if places >= 0:
        return rounded
    grown = strict(decimals.shifted(-places, rounding=rounding))
    return program.apply(("shift", -places), grown, [rounded], decimal(0))


def _cast(program: Program, call: Call, arguments: list[Node]) -> Node:
    return casts.cast(program, arguments[0], call.to or BOOL)


def _of_texts(operation: Callable[..., Any], kind: FieldType) -> Operation:
    """Return an operation of texts that cannot fail."""

    def added(program: Program, call: Call, arguments: list[Node]) -> Node:
        nodes = _all(program, arguments, STRING)
        return program.apply(call.function, total(operation), nodes, kind)

    return added


def _like(program: Program, call: Call, arguments: list[Node]) -> Node:
    [pattern] = call.detail
    nodes = _all(program, arguments, STRING)
    return program.apply(("like", pattern), total(texts.like(str(pattern))), nodes, BOOL)


def _substr(program: Program, _: Call, arguments: list[Node]) -> Node:
    text, *places = arguments
    nodes = [converted(program, text, STRING), *_all(program, places, INT)]
    return program.apply("substr", strict(texts.substr), nodes, STRING)


def _of_instants(operation: Callable[..., Callable[..., Computed]], kind: FieldType) -> Operation:
    """Return an operation of timestamps with details: a unit, a zone, an interval."""

    def added(program: Program, call: Call, arguments: list[Node]) -> Node:
        nodes, kernel = _all(program, arguments, TIMESTAMP), strict(operation(*call.detail))
        return program.apply((call.function, *call.detail), kernel, nodes, kind)

    return added


def _all(program: Program, nodes: list[Node], kind: FieldType) -> list[Node]:
    return [converted(program, node, kind) for node in nodes]


OPERATIONS: Final[dict[str, Operation]] = {
    **dict.fromkeys(_NUMPY, _comparison),
    **dict.fromkeys(("+", "-", "*", "/"), _arithmetic),
    **dict.fromkeys(("div", "mod"), _of_ints),
    **dict.fromkeys(("negate", "abs"), _sized),
    **dict.fromkeys(("floor", "ceil", "round"), _rounded),
    **dict.fromkeys(("least", "greatest"), _extreme),
    "and": _of_bools(logic.conjunction),
    "or": _of_bools(logic.disjunction),
    "not": _of_bools(logic.negation),
    "is_null": _is_null,
    "in": _in,
    "between": _between,
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "cast": _cast,
    "||": _of_texts(texts.joined, STRING),
    "lower": _of_texts(texts.lower, STRING),
    "upper": _of_texts(texts.upper, STRING),
    "trim": _of_texts(texts.trim, STRING),
    "length": _of_texts(texts.length, INT),
    "starts_with": _of_texts(texts.starts_with, BOOL),
    "like": _like,
    "substr": _substr,
    "date_trunc": _of_instants(instants.truncation, TIMESTAMP),
    "extract": _of_instants(instants.part, INT),
    "add_interval": _of_instants(lambda us: partial(arithmetic.add, np.array([us])), TIMESTAMP),
}
