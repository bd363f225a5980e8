"""Conditions of a join on two records, from data to a function."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from windowing.model.flow import Condition, JoinFlow
from windowing.model.join import Comparison, Operand
from windowing.model.record import Record

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


def compared(comparator: str, first: Any, second: Any) -> bool:
    """Return whether a comparison of two values holds; with null it does not."""
    return first is not None and second is not None and _OPERATORS[comparator](first, second)


def condition_of(flow: JoinFlow) -> Condition:
    """Return the condition on a left and a right record of a join."""
    where = flow.where
    if callable(where):
        return where
    return lambda left, right: all(_holds(comparison, left, right) for comparison in where)


def _holds(comparison: Comparison, left: Record, right: Record) -> bool:
    """Return whether a comparison holds; with null it does not."""
    first = _value(comparison.first, left, right)
    second = comparison.second
    if isinstance(second, Operand):
        second = _value(second, left, right)
    return compared(comparison.operator, first, second)


def _value(operand: Operand, left: Record, right: Record) -> Any:
    return getattr(left if operand.side == "left" else right, operand.field)
