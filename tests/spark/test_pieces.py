"""Large values travel from the JVM to Python in pieces, and arrive whole.

What the simulator takes for the JVM's pieces (`pieces_of`) is compared with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.simulator.platform.between import pieces_of
from windowing.engine.tuning import Tuning, tuned
from windowing.spark.pieces import whole_rows
from windowing.spark.reading import BYTES, in_pieces, limit_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = tuple[int, bytes | None]

PIECES, WHOLE_MAX = Tuning().value_pieces, Tuning().whole_value_bytes_max
FULL = WHOLE_MAX + 1
SIZES = [0, 1, WHOLE_MAX - 1, WHOLE_MAX, FULL, FULL + 1, 2 * FULL, PIECES * FULL, PIECES * FULL + 9]


def value(size: int, seed: int) -> bytes:
    """Bytes whose pieces are all different."""
    return b"".join(number.to_bytes(4, "big") for number in range(seed, seed + size // 4 + 1))[
        :size
    ]


def arrow(rows: list[Row]) -> pa.RecordBatch:
    offsets, values = zip(*rows, strict=True) if rows else ((), ())
    return pa.RecordBatch.from_arrays(
        [pa.array(offsets, pa.int64()), pa.array(values, pa.binary())], ["offset", "value"]
    )


def rows_of(batches: Iterator[pa.RecordBatch]) -> list[Row]:
    return [(row["offset"], row["value"]) for batch in batches for row in batch.to_pylist()]


@given(
    sizes=st.lists(st.none() | st.sampled_from(SIZES) | st.integers(0, 300), max_size=12),
    ends=st.lists(st.integers(0, 12 * PIECES), max_size=6),
    gathered=st.sampled_from([1, 3, 20, 1000]),
)
def test_rows_are_whole_however_their_pieces_are_cut_into_batches(
    sizes: list[int | None], ends: list[int], gathered: int
) -> None:
    sent = [(n, None if size is None else value(size, n)) for n, size in enumerate(sizes)]
    pieces = [(n, piece) for n, one in sent for piece in pieces_of(one)]
    places = [0, *sorted(end for end in ends if end < len(pieces)), len(pieces)]
    batches = [arrow(pieces[a:b]) for a, b in pairwise(places)]
    with tuned(gathered_rows=gathered):
        assert rows_of(whole_rows()(iter(batches))) == sent


def test_a_value_whose_last_pieces_are_missing_is_an_error() -> None:
    pieces = [(0, piece) for piece in pieces_of(value(2 * FULL, 0))]
    with pytest.raises(ValueError, match=f"15 of {PIECES} are there"):
        rows_of(whole_rows()(iter([arrow(pieces[:-1])])))


@pytest.fixture
def limited(spark: SparkSession) -> Iterator[SparkSession]:
    """The session of all tests, which has its limit again afterwards."""
    yield spark
    limit_batches(spark, None)


@pytest.mark.spark
@pytest.mark.parametrize("record_bytes_max", [None, PIECES * FULL])
def test_the_jvm_cuts_as_documented_and_rows_arrive_whole(
    limited: SparkSession, record_bytes_max: int | None
) -> None:
    sent = [(n, value(size, n)) for n, size in enumerate(SIZES * 2)]
    sent += [(n, None if n % 3 == 0 else b"small") for n in range(len(sent), 3_000)]
    cut_up = in_pieces(limited.createDataFrame(sent, "offset long, value binary").coalesce(1))
    limit_batches(limited, record_bytes_max)
    jvm = [(row.offset, row.value) for row in cut_up.collect()]
    assert jvm == [(n, piece) for n, one in sent for piece in pieces_of(one)]
    arrived = cut_up.mapInArrow(whole_rows(), "offset long, value binary").collect()
    assert [(row.offset, row.value) for row in arrived] == sent


@pytest.mark.spark
@pytest.mark.parametrize(
    ("record_bytes_max", "bytes_max"),
    [(None, 64 << 20), (1_048_588, (1 << 31) - 1), (PIECES * FULL + 1, 64 << 20)],
)
def test_batches_have_a_limit_of_bytes_where_records_may_be_larger_than_their_pieces(
    limited: SparkSession, record_bytes_max: int | None, bytes_max: int
) -> None:
    limit_batches(limited, record_bytes_max)
    assert limited.conf.get(BYTES) == str(bytes_max)
