"""Why expressions have no value: what the definition says of the same record."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windowing.engine.columns import field_column
from windowing.engine.reading.expressions.evaluate import evaluate
from windowing.engine.reading.failures import causes
from windowing.model.computed import CAST, OVERFLOW, SUBSTR, YEARS, ZERO
from windowing.model.expressions.parse import parse_expression
from windowing.model.types import FieldType
from windowing.semantics.expressions import ExpressionFailure, value_of

KNOWN = {
    **dict.fromkeys("vq", FieldType("int", nullable=True)),
    "s": FieldType("string", nullable=True),
}
TYPES = {"v": pl.Int64, "q": pl.Int64, "s": pl.String}
BY_DEFINITION = {
    "division by zero": ZERO,
    "beyond int64": OVERFLOW,
    "outside of years 1 to 9999": YEARS,
    "from is below 1, or the length below 0": SUBSTR,
}
NUMBERS = st.sampled_from([None, 0, 1, -1, 7, 2**63 - 1, -(2**63)])
ROWS = st.fixed_dictionaries(
    {"v": NUMBERS, "q": NUMBERS, "s": st.sampled_from([None, "", "12", "x"])}
)


def cause(text: str, row: dict[str, object]) -> str | None:
    frame = pl.DataFrame([row], schema=TYPES).rename(field_column)
    expression = parse_expression(text)
    (failed,) = evaluate(expression, frame, KNOWN).failed
    return causes(expression, frame, KNOWN)[0] if failed else None


@pytest.mark.parametrize(
    "text",
    [
        "v + q * 2",
        "v div q",
        "CASE WHEN v mod q = 1 THEN v * v WHEN v > 0 THEN cast(s AS int) ELSE v div 0 END",
        "coalesce(v div q, cast(s AS int), q + q)",
        "v div q = 1 OR v * q = 1 AND cast(s AS int) = v",
        "substr(s, v) || cast(v + 1 AS string)",
        "extract(year FROM cast(v AS timestamp)) div q",
        "abs(v) BETWEEN 0 AND q + q",
    ],
)
@given(row=ROWS)
def test_the_cause_is_the_definitions(text: str, row: dict[str, object]) -> None:
    found = cause(text, row)
    try:
        value_of(parse_expression(text), KNOWN, row)
    except ExpressionFailure as failure:
        said = str(failure)
        wanted = BY_DEFINITION.get(said)
        assert found == wanted if wanted else (found or "").startswith(CAST), said
    else:
        assert found is None


def test_rows_have_their_own_causes() -> None:
    frame = pl.DataFrame({"v": [1, 2**63 - 1, 1], "q": [0, 1, 0]}).rename(field_column)
    expression = parse_expression("(v + 1) div q")
    assert causes(expression, frame, KNOWN) == [ZERO, OVERFLOW, ZERO]
