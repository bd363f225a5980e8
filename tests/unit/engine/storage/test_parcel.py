"""Frames as bytes, and the shards that their rows go to."""

from __future__ import annotations

import zlib

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.strategies import lane_of
from tests.strategies.columns import tables
from windowing.engine.reading.batches import batches
from windowing.engine.storage.frames import from_bytes, to_bytes
from windowing.engine.storage.parcel import shard_of, split
from windowing.model import parse_pipeline
from windowing.model.rows import row_lines
from windowing.runtime.local import run
from windowing.semantics import evaluate

FIELDS = {"n": "int?", "k": "string?", "x": "float", "b": "int"}
TYPES = {"n": pl.Int64, "k": pl.String, "x": pl.Float64, "b": pl.Int32}


def frames() -> st.SearchStrategy[pl.DataFrame]:
    return tables(FIELDS, {"b": 5}).map(lambda table: pl.DataFrame(table, TYPES, strict=False))


@pytest.mark.parametrize("kept", [False, True])
@given(frame=frames(), times=st.sampled_from([1, 5_000]))
def test_bytes_are_read_as_they_were_written(frame: pl.DataFrame, times: int, kept: bool) -> None:
    large = pl.concat([frame] * times)
    assert_frame_equal(from_bytes(to_bytes(large, kept=kept)), large)


@given(frame=frames(), keyed=st.booleans(), shards=st.integers(1, 4))
def test_every_row_goes_to_the_shard_of_its_key(
    frame: pl.DataFrame, keyed: bool, shards: int
) -> None:
    rows = frame.with_row_index("row").with_columns(key=pl.col("row") % 5)
    parts = dict(split(rows, ["key"] if keyed else [], shards))
    expected = (
        shard_of(rows.select("key"), shards) if keyed else pl.repeat(0, len(rows), eager=True)
    )
    assert all(map(len, parts.values()))
    for number in range(shards):
        part = parts.get(number, rows.clear())
        assert_frame_equal(part.sort("row"), rows.filter(expected == number))


@given(
    st.lists(st.tuples(st.text() | st.none(), st.integers(-(2**63), 2**63 - 1))), st.integers(1, 9)
)
def test_a_key_has_the_shard_that_it_always_had(
    keys: list[tuple[str | None, int]], shards: int
) -> None:
    schema = {"=k": pl.String, "=n": pl.Int64}
    spelled = ["\x1f".join(["\x00" if k is None else k, str(n)]) for k, n in keys]
    expected = [zlib.crc32(text.encode()) % shards for text in spelled]
    assert shard_of(pl.DataFrame(keys, schema=schema, orient="row"), shards).to_list() == expected


TWO_ATTRIBUTES = """
name: two
source:
  topic: s
  partitions: 1
  format: json
  event_time: {{field: ts, unit: us}}
  fields: {{g: string, h: int, seq: int}}
  disorder: {disorder}
  disorder_of: {{seq: {disorder_of}}}
shards: 4
queries:
  q:
    window: {window}
    group_by: {group_by}
    aggregates: {{n: count}}
"""


@pytest.mark.parametrize("window", ["RANGE 5 SLIDE 5 WATTR seq", "SESSION 2 WATTR seq"])
@pytest.mark.parametrize(
    ("disorder", "disorder_of", "group_by"),
    [
        ("{ordered_per: g}", "ordered", "[]"),
        ("{punctuation: {attr: g}}", "{slack: 1}", "[h]"),
        ("ordered", "{ordered_per: g}", "[g, h]"),
    ],
)
def test_each_attribute_has_its_own_promises(
    window: str, disorder: str, disorder_of: str, group_by: str
) -> None:
    """Progress per key by one attribute says nothing of windows over the other."""
    text = TWO_ATTRIBUTES.format(
        window=window, disorder=disorder, disorder_of=disorder_of, group_by=group_by
    )
    pipeline = parse_pipeline(text)
    log = lane_of({"value": {"ts": n, "seq": n, "g": "abc"[n % 3], "h": n % 2}} for n in range(24))
    rows = run(pipeline, batches(log, 5)).rows
    wanted = row_lines(evaluate(pipeline, log).rows)
    assert wanted
    assert [*row_lines(rows)] == [*wanted]
