"""Frames as bytes: what is read is what was written."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from windowing.engine.frames import from_bytes, slices, to_bytes

COLUMNS = {
    "n": (pl.Int64, st.integers(-(2**63), 2**63 - 1) | st.none()),
    "k": (pl.String, st.sampled_from(["", "a", "ä", None])),
    "x": (pl.Float64, st.floats(allow_nan=False)),
    "b": (pl.Int32, st.integers(-5, 5)),
}


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    rows = draw(st.integers(0, 12))
    return pl.DataFrame(
        {
            name: pl.Series(draw(st.lists(values, min_size=rows, max_size=rows)), dtype=type_)
            for name, (type_, values) in COLUMNS.items()
        }
    )


@pytest.mark.parametrize("kept", [False, True])
@given(frame=frames(), times=st.sampled_from([1, 5_000]))
def test_bytes_are_read_as_they_were_written(frame: pl.DataFrame, times: int, kept: bool) -> None:
    large = pl.concat([frame] * times)
    assert_frame_equal(from_bytes(to_bytes(large, kept=kept)), large)


@given(parts=st.lists(frames(), min_size=1, max_size=4))
def test_slices_are_consecutive(parts: list[pl.DataFrame]) -> None:
    found = slices(pl.concat(parts), [len(part) for part in parts])
    for part, cut in zip(parts, found, strict=True):
        assert_frame_equal(cut, part)
