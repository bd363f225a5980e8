"""Evaluate expressions over tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import polars as pl

from windowing.engine.reading.expressions.operations import OPERATIONS
from windowing.engine.reading.expressions.program import Evaluated, Program
from windowing.model.expressions.tree import Expression, names_in
from windowing.model.types import FieldType

_REMEMBERED: Final = 1024
"""How many expressions a process keeps compiled."""


def program_over(known: Mapping[str, FieldType]) -> Program:
    """Return a program that has no expressions yet.

    Args:
        known: types of names.
    """
    return Program(known, OPERATIONS)


def evaluate(
    expression: Expression, frame: pl.DataFrame, known: Mapping[str, FieldType]
) -> Evaluated:
    """Evaluate one expression over a table; several are cheaper as one program.

    Args:
        frame: has the columns of its fields (`windowing.engine.columns.field_column`).
        known: types of names, those that occur in it among them.
    """
    names = {name.name for name in names_in(expression)}
    types = tuple(sorted((name, known[name]) for name in names))
    return _program(expression, types).run(frame)[0]


@lru_cache(_REMEMBERED)
def _program(expression: Expression, types: tuple[tuple[str, FieldType], ...]) -> Program:
    program = program_over(dict(types))
    program.add(expression)
    return program
