"""Numbered groups against polars' own grouping, whatever the columns."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies.columns import CROWDED, ROWS, tables
from windowing.engine.storage.groups import Groups, no_extreme
from windowing.engine.tuning import tuned
from windowing.model.lengths import INT64_MAX

# Which values a column of a type has, and how they follow from those.
COLUMNS = {
    pl.Int64: ("int?", None),
    pl.Int32: ("int?", lambda value: value % 11 - 5),
    pl.UInt64: ("int?", lambda value: value % 2**64),
    pl.String: ("string?", None),
    pl.Float64: ("float?", float),
    pl.Boolean: ("int?", lambda value: value > 0),
}


@st.composite
def frames(draw: st.DrawFn, rows: st.SearchStrategy[int] = ROWS) -> pl.DataFrame:
    """Frames with a value and up to four columns of any type, in which anything may be null."""
    types = draw(st.lists(st.sampled_from([*COLUMNS, pl.String]), max_size=4))
    spelled = {f"by{number}": COLUMNS[dtype][0] for number, dtype in enumerate(types)}
    table = draw(tables({"value": "int?", **spelled}, {"value": 2**40}, rows))
    columns = [pl.Series("value", table["value"], dtype=pl.Int64)]
    for name, dtype in zip(spelled, types, strict=True):
        convert, column = COLUMNS[dtype][1], table[name]
        if convert is not None:
            column = [value if value is None else convert(value) for value in column]
        columns.append(pl.Series(name, column, dtype=dtype))
    return pl.DataFrame(columns)


def by(frame: pl.DataFrame) -> list[str]:
    return [name for name in frame.columns if name != "value"]


def per_group(groups: Groups, frame: pl.DataFrame, values: pl.Series) -> list[tuple[object, ...]]:
    return [
        (*(frame[name][int(row)] for name in by(frame)), value)
        for row, value in zip(groups.first, values, strict=True)
    ]


def expected(frame: pl.DataFrame, value: pl.Expr) -> list[tuple[object, ...]]:
    if not by(frame):
        return frame.select(value).rows() if len(frame) else []
    return frame.group_by(by(frame)).agg(value).rows()


@given(frames())
def test_groups_are_those_of_equal_rows(frame: pl.DataFrame) -> None:
    check_groups(frame)


@settings(max_examples=5)
@given(tables({"value": "int", "by0": "string", "by1": "int?"}, {"value": 2**40}, st.just(CROWDED)))
def test_there_may_be_thousands_of_groups(table: dict[str, list[Any]]) -> None:
    check_groups(pl.DataFrame(table))


def check_groups(frame: pl.DataFrame) -> None:
    groups = Groups.by(frame, by(frame))
    with tuned(compiled_from_rows=0):
        compiled = Groups.by(frame, by(frame))
    assert np.array_equal(groups.number, compiled.number)
    assert np.array_equal(groups.first, compiled.first)
    value = pl.col("value")
    for found, wanted in [
        (groups.sums(frame["value"]), value.sum()),
        (groups.extremes(frame["value"], largest=False), value.min()),
        (groups.extremes(frame["value"], largest=True), value.max()),
        (pl.Series(groups.sizes), pl.len()),
    ]:
        assert sorted(map(repr, per_group(groups, frame, found))) == sorted(
            map(repr, expected(frame, wanted))
        )


@given(frames())
def test_the_first_row_of_a_group_is_its_first(frame: pl.DataFrame) -> None:
    groups = Groups.by(frame, by(frame))
    assert groups.count == len(groups.first)
    for number, row in enumerate(groups.first):
        assert row == np.flatnonzero(groups.number == number)[0]


@given(frames(), st.data())
def test_rows_in_the_order_of_groups(frame: pl.DataFrame, data: st.DataObject) -> None:
    groups = Groups.by(frame, by(frame))
    rows = len(frame)
    exact = st.just(rows)
    values = np.array(data.draw(tables({"n": "int"}, rows=exact))["n"], dtype=np.int64)
    keys = [(groups.number[row], values[row]) for row in groups.ordered_by(values)]
    assert keys == sorted(keys)
    lanes = [abs(n) for n in data.draw(tables({"n": "int"}, {"n": 200}, exact))["n"]]
    order = groups.ordered_by(np.array(lanes, dtype=np.int64))
    assert sorted(order) == [*range(rows)]
    places = [(groups.number[row], lanes[row]) for row in order]
    assert places == sorted(places)


@pytest.mark.parametrize("values", [[INT64_MAX, INT64_MAX - 1, INT64_MAX], [INT64_MAX, 0, 0]])
def test_values_at_the_ends_of_64_bits_are_in_order(values: list[int]) -> None:
    groups = Groups(np.array([1, 0, 0]), np.array([1, 0]))
    order = groups.ordered_by(np.array(values))
    assert [(groups.number[row], values[row]) for row in order] == sorted(
        zip([1, 0, 0], values, strict=True)
    )


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", [pl.String, pl.Boolean, pl.Int32, pl.Float64])
def test_extremes_of_any_type(dtype: type[pl.DataType], largest: bool) -> None:
    values = {
        pl.String: ["b", None, "a", None],
        pl.Boolean: [True, None, False, None],
        pl.Int32: [2, None, 1, None],
        pl.Float64: [0.5, None, -2.0, None],
    }[dtype]
    frame = pl.DataFrame({"by": [1, 1, 1, 2], "value": pl.Series(values, dtype=dtype)})
    found = Groups.by(frame, ["by"]).extremes(frame["value"], largest=largest)
    assert found.dtype == dtype
    assert found.to_list() == [values[0] if largest else values[2], None]


def test_nothing_changes_an_extreme_less() -> None:
    assert no_extreme(pl.Int64(), largest=True) == -(2**63)
    assert no_extreme(pl.Int64(), largest=False) == 2**63 - 1
    assert no_extreme(pl.Float64(), largest=True) == -np.inf
