"""The meaning of expressions, value by value, by exact numbers and the calendar of Python."""

from windowing.semantics.expressions.failure import ExpressionFailure
from windowing.semantics.expressions.value import value_of

__all__ = ["ExpressionFailure", "value_of"]
