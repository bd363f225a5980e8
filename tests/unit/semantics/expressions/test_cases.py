"""The definition by the table of cases."""

import duckdb
import pytest

from tests.strategies.expression_cases import ExpressionCase, expression_cases, is_same
from tests.unit.semantics.expressions.duckdb_sql import DuckDB
from windowing.semantics.expressions import ExpressionFailure, value_of

CASES = list(expression_cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_definition(case: ExpressionCase) -> None:
    tree, type_ = case.parsed()
    assert case.type in (None, str(type_))
    if case.fails:
        with pytest.raises(ExpressionFailure):
            value_of(tree, case.types, case.values)
        return
    found, wanted = value_of(tree, case.types, case.values), case.expected(type_)
    assert is_same(found, wanted), f"{case.text}: {found!r}, and must be {wanted!r}"


@pytest.fixture(scope="module")
def duck() -> DuckDB:
    return DuckDB()


@pytest.mark.parametrize("case", [one for one in CASES if one.duckdb], ids=lambda case: case.name)
def test_duckdb(case: ExpressionCase, duck: DuckDB) -> None:
    tree, type_ = case.parsed()
    if case.fails:
        with pytest.raises((duckdb.Error, ArithmeticError)):
            duck.value(tree, case.types, case.values)
        return
    found, wanted = duck.value(tree, case.types, case.values), case.expected(type_)
    assert is_same(found, wanted), f"{case.text}: {found!r}, and must be {wanted!r}"
