"""Frames as bytes: what is read is what was written."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.strategies.columns import tables
from windowing.engine.storage.frames import from_bytes, slices, to_bytes

FIELDS = {"n": "int?", "k": "string?", "x": "float", "b": "int"}
TYPES = {"n": pl.Int64, "k": pl.String, "x": pl.Float64, "b": pl.Int32}


def frames() -> st.SearchStrategy[pl.DataFrame]:
    return tables(FIELDS, {"b": 5}).map(lambda table: pl.DataFrame(table, TYPES, strict=False))


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
