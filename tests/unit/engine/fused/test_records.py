"""The single records of a chunk come back from their few bytes, whatever their numbers are."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies.columns import ROWS, tables
from windowing.engine.fused.records import Records
from windowing.engine.wids import NOTHING_YET

ANY = st.integers(-(2**63), 2**63 - 1)
# In whole seconds, in milliseconds, in none.
TIMES = st.sampled_from([1_000_000, 1_000, 1]).flatmap(
    lambda unit: st.integers(-2_000, 2_000).map(lambda n: 1_700_000_000_000_000 + n * unit)
)


@given(
    st.one_of(*(st.lists(st.tuples(st.integers(1, 9), of, of)) for of in (ANY, TIMES))),
    st.integers(0, 3),
)
def test_records_come_back_from_their_bytes(
    found: list[tuple[int, int, int]], unknown: int
) -> None:
    steps, times, others = zip(*found, strict=True) if found else ((), (), ())
    schema = dict.fromkeys(("offset", "ts_us", "at", "before"), pl.Int64)
    before = pl.col("ts_us").cum_max()
    known = pl.int_range(pl.len()) >= unknown
    frame = pl.DataFrame([steps, times, others, times], schema=schema).with_columns(
        pl.col("offset").cum_sum(),
        before=pl.when(known).then(before).otherwise(NOTHING_YET),
    )
    for records in (frame, frame.with_columns(at="ts_us")):
        read = Records.of(records, "ts_us").read()
        assert read.select(records.columns).equals(records)


@given(
    tables({"ts_us": "int", "at": "int"}, {"ts_us": 2**40, "at": 2**40}, ROWS.filter(bool)),
    st.sampled_from([1, 1_000, 1_000_000]),
    st.sampled_from([0, 63, 64, 65, 255, 257]),
)
def test_a_unit_measures_all_records_and_not_the_first_ones(
    table: dict[str, list[int]], unit: int, turn: int
) -> None:
    odd = pl.int_range(pl.len()) == turn
    records = pl.DataFrame(table, schema=dict.fromkeys(table, pl.Int64)).with_columns(
        pl.int_range(pl.len()).alias("offset"), pl.col("ts_us", "at") * unit
    )
    records = records.with_columns(pl.col("ts_us", "at") + pl.when(odd).then(1).otherwise(0))
    records = records.with_columns(before=pl.col("ts_us").cum_max())
    assert Records.of(records, "ts_us").read().select(records.columns).equals(records)


@pytest.mark.parametrize(("unit", "most"), [(1_000, 2.5), (1_000_000, 1.5)])
def test_they_need_few_bytes(unit: int, most: float) -> None:
    """A tenth is delayed by up to a minute; progress is a minute behind the newest record."""
    rows = 100_000
    number = pl.int_range(rows, eager=True)
    delay_us = (number * 7_919 % 60_000 * 1_000) * (number % 10 == 0)
    times = (1_700_000_000_000_000 + number * 3_000 - delay_us) // unit * unit
    before = times.cum_max().shift(1) - 60_000_000
    columns = {"offset": number, "ts_us": times, "at": times, "before": before}
    records = pl.DataFrame(columns).with_columns(pl.col("before").fill_null(NOTHING_YET))
    assert len(Records.of(records, "ts_us").distances) < most * rows
