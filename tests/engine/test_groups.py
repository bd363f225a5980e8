"""Numbered groups against polars' own grouping, whatever the columns."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windowing.engine.groups import Groups, no_extreme

WIDE = st.one_of(st.integers(0, 3), st.sampled_from([-(2**63), 2**63 - 1, 2**40]))
COLUMNS = {
    pl.Int64: WIDE,
    pl.Int32: st.integers(-5, 5),
    pl.UInt64: st.sampled_from([0, 1, 2**64 - 1]),
    pl.String: st.sampled_from(["", "a", "b", "\x00", "ä", "a longer text than twelve bytes"]),
    pl.Float64: st.sampled_from([0.0, 0.5, -1e300]),
    pl.Boolean: st.booleans(),
}


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    """Frames with a value and up to four columns of any type, in which anything may be null."""
    rows = draw(st.integers(0, 40))
    types = draw(st.lists(st.sampled_from([*COLUMNS]), max_size=4))
    columns = [
        pl.Series(
            f"by{number}",
            draw(st.lists(st.none() | COLUMNS[dtype], min_size=rows, max_size=rows)),
            dtype=dtype,
        )
        for number, dtype in enumerate(types)
    ]
    values = draw(st.lists(st.none() | st.integers(-(2**40), 2**40), min_size=rows, max_size=rows))
    return pl.DataFrame([pl.Series("value", values, dtype=pl.Int64), *columns])


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
    groups = Groups.by(frame, by(frame))
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
    values = np.array(data.draw(st.lists(WIDE, min_size=rows, max_size=rows)), dtype=np.int64)
    keys = [(groups.number[row], values[row]) for row in groups.ordered_by(values)]
    assert keys == sorted(keys)
    lanes = data.draw(st.lists(st.integers(0, 200), min_size=rows, max_size=rows))
    order = groups.ordered_by(np.array(lanes, dtype=np.int64))
    assert sorted(order) == [*range(rows)]
    places = [(groups.number[row], lanes[row]) for row in order]
    assert places == sorted(places)


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
