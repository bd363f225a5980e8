"""Drawn expressions over drawn records: the engine by columns is the definition by values."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from chaos.simulator.draw.expressions import KINDS, draw_expression, draw_value
from tests.strategies.expression_cases import is_same
from tests.unit.engine.expressions.frames import dtype_of, frame_of, pieces
from windowing.engine.reading.expressions import Evaluated, evaluate, program_over
from windowing.model.expressions.check import type_of
from windowing.model.expressions.parse import parse_expression
from windowing.model.expressions.tree import Expression
from windowing.model.types import FieldType, parse_field_type
from windowing.semantics.expressions import ExpressionFailure, value_of

TYPES = {
    name: parse_field_type(text)
    for name, text in {
        **{"i": "int?", "j": "int", "x": "float?", "y": "float", "s": "string?", "u": "string"},
        **{"b": "bool?", "c": "bool", "d": "decimal(12,2)?", "e": "decimal(38,4)", "a": "date?"},
        **{"g": "decimal(38,0)?", "t": "timestamp?", "v": "timestamp"},
    }.items()
}
EACH = 50
"""Expressions for each seed."""
SIZES = (0, 1, 1, 2, 3, 12)

Records = list[Mapping[str, Any]]


def drawn(rng: random.Random) -> tuple[str, Expression]:
    text = draw_expression(rng, TYPES, rng.choice(KINDS), depth=rng.choice((1, 2, 2, 3, 4)))
    return text, parse_expression(text)


def records(rng: random.Random, many: int) -> Records:
    return [{name: draw_value(rng, kind) for name, kind in TYPES.items()} for _ in range(many)]


def agree(text: str, tree: Expression, kind: FieldType, found: Evaluated, rows: Records) -> None:
    assert found.values.dtype == dtype_of(kind), text
    assert (found.values.len(), found.failed.len()) == (len(rows), len(rows)), text
    assert found.failed.dtype == pl.Boolean
    assert found.failed.null_count() == 0
    for row, value, failed in zip(rows, found.values, found.failed, strict=True):
        try:
            wanted = value_of(tree, TYPES, row)
        except ExpressionFailure:
            assert (failed, value) == (True, None), (text, row, "fails", value)
            continue
        assert not failed, (text, row, wanted, "failed")
        assert is_same(value, wanted), (text, row, wanted, value)


@given(st.integers(0, 2**32))
def test_the_engine_is_the_definition(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(EACH):
        text, tree = drawn(rng)
        rows = records(rng, rng.choice(SIZES))
        found = evaluate(tree, frame_of(TYPES, rows), TYPES)
        agree(text, tree, type_of(tree, TYPES, text), found, rows)


@given(st.integers(0, 2**32))
def test_many_in_one_program_over_columns_in_pieces(seed: int) -> None:
    rng = random.Random(seed)
    many = [drawn(rng) for _ in range(EACH // 5)]
    program = program_over(TYPES)
    for _, tree in many:
        program.add(tree)
    for size in (17, 0, 1):
        rows = records(rng, size)
        frame = pieces(frame_of(TYPES, rows), sorted(rng.randint(0, size) for _ in range(2)))
        for (text, tree), found in zip(many, program.run(frame), strict=True):
            agree(text, tree, type_of(tree, TYPES, text), found, rows)
