"""The table of cases: by the definition and, where it means the same, by DuckDB."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.strategies.expression_cases import FILES, ExpressionCase, expression_cases, is_same
from tests.unit.semantics.expressions.duckdb_sql import DuckDB, DuckDBFailure
from windowing.semantics.expressions import ExpressionFailure, value_of

FAILURES = (ExpressionFailure, DuckDBFailure)


@pytest.fixture(scope="module")
def duck() -> Iterator[DuckDB]:
    with DuckDB() as one:
        yield one


def wrong(case: ExpressionCase, judge: Callable[..., Any]) -> str | None:
    """What a judge finds wrong with a case; None: nothing."""
    tree, type_ = case.parsed()
    try:
        found = judge(tree, case.types, case.values)
    except FAILURES as failure:
        return None if case.fails else f"{case.name} {case.text}: {failure}"
    if case.fails or not is_same(found, case.expected(type_)):
        wanted = "a failure" if case.fails else repr(case.expected(type_))
        return f"{case.name} {case.text}: {found!r}, and must be {wanted}"
    return None


@pytest.mark.parametrize("file", FILES)
def test_the_definition(file: str) -> None:
    cases = list(expression_cases(file))
    assert [found for case in cases if (found := wrong(case, value_of))] == []
    types = [(case.name, str(case.parsed()[1])) for case in cases if case.type]
    assert types == [(case.name, case.type) for case in cases if case.type]


@pytest.mark.parametrize("file", FILES)
def test_duckdb(file: str, duck: DuckDB) -> None:
    cases = [case for case in expression_cases(file) if case.duckdb]
    assert [found for case in cases if (found := wrong(case, duck.value))] == []


def test_there_are_many() -> None:
    cases = list(expression_cases())
    assert len(cases) > 1_100
    assert sum(case.duckdb for case in cases) > 900
