"""Expressions by columns: compiled once, evaluated over the rows of each chunk."""

from windowing.engine.reading.expressions.evaluate import evaluate, program_over
from windowing.engine.reading.expressions.program import Evaluated, Program

__all__ = ["Evaluated", "Program", "evaluate", "program_over"]
