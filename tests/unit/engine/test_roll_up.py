"""Rolling slices up gives each window what listing the windows of every slice gives it."""

from __future__ import annotations

import polars as pl
from hypothesis import assume, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from windowing.engine.aggregates import Accumulators
from windowing.engine.columns import (
    FIRST_OFFSET,
    FIRST_WINDOW,
    LAST_OFFSET,
    LAST_WINDOW,
    OFFSET,
    OFFSETS,
    PARTITION,
    WINDOW_ID,
    field_column,
)
from windowing.engine.windows.roll_up import rolled_up
from windowing.model import parse_pipeline

PIPELINE = parse_pipeline("""
name: p
source:
  topic: s
  partitions: 1
  format: json
  event_time: {field: ts, unit: us}
  fields: {ts: int, k: "string?", v: "int?", x: "float?"}
  disorder: {slack: 0 microseconds}
queries:
  q:
    window: RANGE 9 microseconds SLIDE 1 microseconds WATTR ts
    group_by: [k]
    aggregates: {n: count, s: sum(v), low: min(v), high: max(x), mean: mean(x)}
sink: {table: t}
""")
(QUERY,) = PIPELINE.flows
ACCUMULATORS = Accumulators.of(QUERY, PIPELINE.source)
KEY = field_column("k")


@st.composite
def slices(draw: st.DrawFn) -> pl.DataFrame:
    """Slices as a step has them: clipped to what closes, each pair once for a key and lane."""
    closing, longest = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    origin = draw(st.integers(-5, 5))
    spans = [
        (max(0, first), min(closing - 1, first + longest - 1))
        for first in range(1 - longest, closing)
    ]
    shorter = [(first, last) for first in range(closing) for last in range(first, closing)]
    chosen = spans if draw(st.integers(0, 4)) else spans + shorter
    units = st.tuples(st.sampled_from([None, "a", "b", ""]), st.sampled_from([0, 1, 7]))
    pairs = draw(st.lists(st.tuples(units, st.sampled_from(chosen)), min_size=1, unique=True))
    numbers = st.one_of(st.none(), st.integers(-9, 9), st.sampled_from([2**63 - 1, -(2**63)]))
    floats = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))
    records = pl.DataFrame(
        {
            OFFSET: range(len(pairs)),
            KEY: [key for (key, _), _ in pairs],
            PARTITION: [lane for (_, lane), _ in pairs],
            FIRST_WINDOW: [origin + first for _, (first, _) in pairs],
            LAST_WINDOW: [origin + last for _, (_, last) in pairs],
            field_column("v"): [draw(numbers) for _ in pairs],
            field_column("x"): [draw(floats) for _ in pairs],
        },
        schema_overrides={
            KEY: pl.String,
            PARTITION: pl.Int32,
            field_column("v"): pl.Int64,
            field_column("x"): pl.Float64,
        },
    )
    return pl.DataFrame(
        [
            *(records[name] for name in (KEY, PARTITION, FIRST_WINDOW, LAST_WINDOW)),
            *ACCUMULATORS.lift(records),
        ]
    )


@given(frame=slices(), keyed=st.booleans())
def test_every_window_holds_the_same(frame: pl.DataFrame, keyed: bool) -> None:
    keys = [KEY] if keyed else []
    frame = ACCUMULATORS.merge(frame, [*keys, PARTITION, FIRST_WINDOW, LAST_WINDOW])
    found = rolled_up(ACCUMULATORS, frame, keys)
    assume(found is not None)
    assert found is not None
    ids = pl.int_ranges(FIRST_WINDOW, pl.col(LAST_WINDOW) + 1, dtype=pl.Int64)
    listed = frame.with_columns(ids.alias(WINDOW_ID)).explode(WINDOW_ID)
    named = [*keys, WINDOW_ID]
    expected = ACCUMULATORS.merge(listed, named).drop(FIRST_OFFSET, LAST_OFFSET).sort(named)
    assert_frame_equal(found.select(expected.columns).sort(named), expected)

    ends = pl.col(FIRST_OFFSET).min(), pl.col(LAST_OFFSET).max()
    lanes = listed.group_by(*named, PARTITION).agg(*ends).sort(*named, PARTITION)
    offsets = found.select(*named, OFFSETS).explode(OFFSETS).unnest(OFFSETS)
    assert_frame_equal(offsets.sort(named, maintain_order=True), lanes)


@given(length=st.integers(2, 9), closing=st.integers(1, 30))
def test_slices_of_one_length_are_always_rolled_up(length: int, closing: int) -> None:
    count = closing + length - 1
    records = pl.DataFrame(
        {
            OFFSET: range(count),
            KEY: ["a"] * count,
            PARTITION: [0] * count,
            field_column("v"): range(count),
            field_column("x"): [1.5] * count,
        }
    )
    first = pl.int_range(1 - length, closing, eager=True)
    frame = pl.DataFrame(
        [
            records[KEY],
            records[PARTITION],
            first.clip(0).alias(FIRST_WINDOW),
            (first + length - 1).clip(upper_bound=closing - 1).alias(LAST_WINDOW),
            *ACCUMULATORS.lift(records),
        ]
    )
    frame = ACCUMULATORS.merge(frame, [KEY, PARTITION, FIRST_WINDOW, LAST_WINDOW])
    assert rolled_up(ACCUMULATORS, frame, [KEY]) is not None
