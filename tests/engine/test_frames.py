"""Frames as bytes: what is read is what was written, however narrow its columns were."""

from __future__ import annotations

import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.strategies.columns import tables
from windowing.engine.frames import from_bytes, slices, slices_to_bytes, to_bytes
from windowing.engine.narrow import Widening, narrowed, narrowed_slices, widened

INT64 = st.integers(-(2**63), 2**63 - 1)
TYPES = {"n": pl.Int64, "m": pl.Int64, "k": pl.String, "x": pl.Float64, "b": pl.Int32}
DRAWN = tables({"n": "int?", "m": "int", "k": "string?", "x": "float", "b": "int"}, {"b": 5}).map(
    lambda table: pl.DataFrame(table, schema=TYPES, strict=False)
)


@st.composite
def near(draw: st.DrawFn) -> pl.DataFrame:
    """Frames with columns near each other, far apart, equally far apart, all the same, or null."""
    rows = draw(st.integers(0, 12))
    origin, width = draw(INT64), draw(st.sampled_from([0, 1, 255, 256, 65_536, 2**32, 2**40]))
    close = st.integers(origin, min(origin + width, 2**63 - 1))
    kinds = [close, close | st.none(), INT64, st.just(origin)]
    columns = {
        "n": draw(st.lists(draw(st.sampled_from(kinds)), min_size=rows, max_size=rows)),
        "k": draw(st.lists(st.sampled_from(["", "a", "ä", None]), min_size=rows, max_size=rows)),
        "x": draw(st.lists(st.floats(allow_nan=False), min_size=rows, max_size=rows)),
        "b": draw(st.lists(st.integers(-5, 5), min_size=rows, max_size=rows)),
    }
    far = draw(st.sampled_from([0, 1, -59]))
    moved = [None if n is None else n + far for n in columns["n"]]
    columns["m"] = [n if n is None or -(2**63) <= n < 2**63 else 0 for n in moved]
    return pl.DataFrame(columns, schema=TYPES)


def frames() -> st.SearchStrategy[pl.DataFrame]:
    return near() | DRAWN


@given(frame=frames())
def test_narrow_columns_widen_to_what_they_were(frame: pl.DataFrame) -> None:
    assert_frame_equal(widened(narrowed(frame)), frame)


@given(parts=st.lists(st.tuples(frames(), st.booleans()), min_size=1, max_size=4))
def test_parts_are_widened_together(parts: list[tuple[pl.DataFrame, bool]]) -> None:
    """Each is narrow or as it was."""
    found = [
        narrowed(frame) if is_narrow else (Widening(len(frame), frame.columns, {}, {}), frame)
        for frame, is_narrow in parts
    ]
    assert_frame_equal(widened(*found), pl.concat(frame for frame, _ in parts))


@pytest.mark.parametrize("kept", [False, True])
@given(frame=near(), times=st.sampled_from([1, 5_000]))
def test_bytes_are_read_as_they_were_written(frame: pl.DataFrame, times: int, kept: bool) -> None:
    large = pl.concat([frame] * times)
    assert_frame_equal(from_bytes(to_bytes(large, kept=kept)), large)


@given(parts=st.lists(frames().filter(len), min_size=1, max_size=4))
def test_slices_are_narrowed_as_a_whole(parts: list[pl.DataFrame]) -> None:
    frame, lengths = pl.concat(parts), [len(part) for part in parts]
    found = [widened(part) for part in narrowed_slices(frame, lengths)]
    for part, own in zip(parts, found, strict=True):
        assert_frame_equal(own, part)


@given(parts=st.lists(near().filter(len), min_size=1, max_size=4), large=st.booleans())
def test_slices_as_bytes(parts: list[pl.DataFrame], large: bool) -> None:
    parts = [pl.concat([part] * 5_000) for part in parts] if large else parts
    frame, lengths = pl.concat(parts), [len(part) for part in parts]
    found = [from_bytes(stream) for stream in slices_to_bytes(frame, lengths)]
    for own, part, cut in zip(found, parts, slices(frame, lengths), strict=True):
        assert_frame_equal(own, part)
        assert_frame_equal(cut, part)


def test_a_slice_has_the_texts_of_its_own() -> None:
    """Side by side if nobody else has them; else they are looked for again."""
    keys = [f"key {number % 50}" for number in range(200)]
    scattered = pl.DataFrame({"k": [*keys, *(f"key {n}" for n in (0, 49, 0, 49))]})
    *_, (last, narrow) = narrowed_slices(scattered, [200, 4])
    assert last.texts == {"k": ["key 0", "key 49"]}
    assert narrow["k"].to_list() == [0, 1, 0, 1]


@given(frame=near())
def test_a_plain_stream_of_earlier_versions_is_still_read(frame: pl.DataFrame) -> None:
    large, sink = pl.concat([frame] * 5_000), io.BytesIO()
    large.write_ipc_stream(sink, compression="zstd")
    assert_frame_equal(from_bytes(sink.getvalue()), large)


def test_columns_with_the_same_distances_are_stored_once() -> None:
    numbers = pl.int_range(1_000, eager=True)
    frame = pl.DataFrame(
        {
            "first": numbers + 10**12,
            "last": numbers + 7,
            "same": pl.repeat(5, 1_000, dtype=pl.Int64, eager=True),
        }
    )
    _, narrow = narrowed(frame)
    assert narrow.schema == {"first": pl.UInt16}
