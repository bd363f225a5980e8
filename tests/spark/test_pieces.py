"""Large values travel from the JVM to Python in pieces, and arrive whole.

What the simulator takes for the JVM's pieces (`pieces_of`) is compared with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from chaos.simulator.platform.between import pieces_of
from windowing.spark.sources.pieces import whole_rows
from windowing.spark.sources.reading import BYTES, in_pieces, limit_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

from tests.unit.spark.test_pieces import FULL, PIECES, SIZES, value


@pytest.fixture
def limited(spark: SparkSession) -> Iterator[SparkSession]:
    """The session of all tests, which has its limit again afterwards."""
    yield spark
    limit_batches(spark, None)


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


@pytest.mark.parametrize(
    ("record_bytes_max", "bytes_max"),
    [(None, 64 << 20), (1_048_588, (1 << 31) - 1), (PIECES * FULL + 1, 64 << 20)],
)
def test_batches_have_a_limit_of_bytes_where_records_may_be_larger_than_their_pieces(
    limited: SparkSession, record_bytes_max: int | None, bytes_max: int
) -> None:
    limit_batches(limited, record_bytes_max)
    assert limited.conf.get(BYTES) == str(bytes_max)
