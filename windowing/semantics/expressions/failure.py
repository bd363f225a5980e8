"""What an expression without a value raises."""


class ExpressionFailure(ArithmeticError):
    """An expression has no value for a record; it says why."""
