"""Evaluate expressions over tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, TypeAlias

import polars as pl

from windowing.engine.reading.expressions.operations import OPERATIONS
from windowing.engine.reading.expressions.program import Evaluated, Program
from windowing.model.expressions.tree import Expression, names_in
from windowing.model.types import FieldType

Named: TypeAlias = tuple[tuple[str | None, Expression], ...]
"""Expressions, and the names of those that are derived fields."""

_REMEMBERED: Final = 1024
"""How many programs a process keeps."""


def program_over(known: Mapping[str, FieldType]) -> Program:
    """Return a program that has no expressions yet.

    Args:
        known: types of names.
    """
    return Program(known, OPERATIONS)


def evaluate(
    expression: Expression, frame: pl.DataFrame, known: Mapping[str, FieldType]
) -> Evaluated:
    """Evaluate one expression over a table.

    Args:
        frame: has the columns of its fields (`windowing.engine.columns.field_column`).
        known: types of names, those that occur in it among them.
    """
    return evaluate_in_order(((None, expression),), frame, known)[0]


def evaluate_in_order(
    named: Named, frame: pl.DataFrame, known: Mapping[str, FieldType]
) -> list[Evaluated]:
    """Evaluate expressions over a table; each may use the names of those before it.

    What they have in common is computed once. One that uses a name of what failed has failed.
    """
    names = {name.name for _, expression in named for name in names_in(expression)}
    types = tuple(sorted((name, known[name]) for name in names))
    return _program(named, types).run(frame)


@lru_cache(_REMEMBERED)
def _program(named: Named, types: tuple[tuple[str, FieldType], ...]) -> Program:
    program = program_over(dict(types))
    for name, expression in named:
        program.add(expression, name)
    return program
