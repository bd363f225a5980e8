"""Drawn expressions: each value is of the type that was found, and DuckDB has the same one."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.simulator.draw.expressions import KINDS, TEMPLATES, draw_expression, draw_value
from tests.strategies.expression_cases import is_same
from tests.unit.semantics.expressions.duckdb_sql import DuckDB, DuckDBFailure
from windowing.model.expressions.check import type_of
from windowing.model.expressions.parse import parse_expression
from windowing.model.expressions.tree import Call, Expression
from windowing.model.types import PRECISION_MAX, FieldType, parse_field_type
from windowing.semantics.expressions import ExpressionFailure, value_of

TYPES = {
    name: parse_field_type(text)
    for name, text in {
        **{"i": "int", "j": "int?", "x": "float", "y": "float?", "s": "string", "u": "string?"},
        **{"b": "bool", "c": "bool?", "d": "decimal(12,2)", "e": "decimal(20,6)?", "a": "date"},
        **{"z": "date?", "t": "timestamp", "v": "timestamp?"},
    }.items()
}
PYTHON = {"int": int, "timestamp": int, "float": float, "string": str, "date": str, "bool": bool}
EACH = 40
"""Expressions for each seed."""


def drawn(
    seed: int, **settings: Any
) -> Iterator[tuple[str, Expression, FieldType, dict[str, Any]]]:
    rng = random.Random(seed)
    for _ in range(EACH):
        text = draw_expression(rng, TYPES, rng.choice(KINDS), depth=rng.randint(1, 3), **settings)
        tree = parse_expression(text)
        values = {name: draw_value(rng, type_) for name, type_ in TYPES.items()}
        yield text, tree, type_of(tree, TYPES, text), values


def fits(type_: FieldType, value: Any) -> bool:
    if value is None:
        return type_.nullable
    if type_.kind != "decimal":
        return type(value) is PYTHON[type_.kind] and str(value) != "-0.0"
    _, digits, exponent = value.as_tuple()
    return -exponent == type_.scale and len(digits) <= type_.precision and str(value)[:2] != "-0E"


@given(st.integers(0, 2**32))
def test_a_value_is_of_the_type_that_was_found(seed: int) -> None:
    for text, tree, type_, values in drawn(seed):
        try:
            found = value_of(tree, TYPES, values)
        except ExpressionFailure:
            continue
        assert fits(type_, found), (text, str(type_), found, values)


def precision(tree: Expression) -> int:
    """The most digits of a decimal anywhere in an expression."""
    parts = tree.arguments if isinstance(tree, Call) else ()
    try:
        own = type_of(tree, TYPES, "").precision
    except ValueError:
        own = 0  # of NULL
    return max(own, *map(precision, parts), 0)


def functions(tree: Expression) -> set[str]:
    if not isinstance(tree, Call):
        return set()
    return {tree.function}.union(*map(functions, tree.arguments))


_OTHERWISE = (
    " div ",
    " mod ",
    "round(",
    "substr(",
    "lower(",
    "upper(",
    "{zone}",
    "{number}",
    "cast(",
)
_OTHERWISE += ("{decimal} / ", "{timestamp} - {timestamp}", "floor({int})", "ceil({int})")
_ALSO = {
    "bool": ["{float} {compares} {int}", "{int} {compares} {decimal}", "{decimal} IN ({int}, 1.5)"],
    "int": ["cast({bool} AS int)", "cast({decimal} AS int)"],
    "float": ["{float} * {int}", "{int} - {float}", "cast({int} AS float)"],
    "decimal": ["cast({int} AS decimal(19,0))", "cast({decimal} AS decimal(20,3))"],
    "string": ["substr({string}, 2)", "substr({string}, 1, 3)", "cast({int} AS string)"],
}
ALIKE = {
    kind: [one for one in TEMPLATES[kind] if not any(part in one for part in _OTHERWISE)]
    + _ALSO.get(kind, [])
    for kind in KINDS
}
"""What DuckDB means alike."""
GIVES_UP = {"and", "or", "case", "coalesce", "*"}
"""Where DuckDB may fail alone: it evaluates what is not asked for, and has shorter products."""
GOES_ON = {"/", "*", "+", "-", "negate", "date_trunc", "extract"}
"""Where it has values beyond ours: infinite floats, years after 9999, constants beyond int64."""
YEARS = (-62_135_596_800_000_000, 253_402_300_799_999_999)


@pytest.fixture(scope="module")
def duck() -> Iterator[DuckDB]:
    with DuckDB() as one:
        yield one


@given(seed=st.integers(0, 2**32))
def test_duckdb_has_the_same_values(seed: int, duck: DuckDB) -> None:
    same = 0
    for text, tree, _, values in drawn(seed, templates=ALIKE):
        for name in {"t", "v"} & {name for name, one in values.items() if one is not None}:
            values[name] = min(max(values[name], YEARS[0]), YEARS[1])
        found, theirs = value(value_of, tree, values), value(duck.value, tree, values)
        ours_failed, theirs_failed = (isinstance(one, Exception) for one in (found, theirs))
        if ours_failed or theirs_failed:
            allowed = functions(tree) & (GOES_ON if ours_failed else GIVES_UP)
            assert (ours_failed and theirs_failed) or allowed, (text, found, theirs, values)
            continue
        same += 1
        if precision(tree) < PRECISION_MAX:  # else DuckDB may have cut digits off
            assert is_same(found, theirs), (text, found, theirs, values)
    assert same > EACH // 2


def value(judge: Any, tree: Expression, values: dict[str, Any]) -> Any:
    try:
        return judge(tree, TYPES, values)
    except (ExpressionFailure, DuckDBFailure) as failure:
        return failure
