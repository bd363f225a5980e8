"""Expressions by columns: compiled once, evaluated over the rows of each chunk."""

from windowing.engine.reading.expressions.evaluate import (
    Named,
    evaluate,
    evaluate_in_order,
    program_over,
)
from windowing.engine.reading.expressions.program import Evaluated, Program

__all__ = ["Evaluated", "Named", "Program", "evaluate", "evaluate_in_order", "program_over"]
