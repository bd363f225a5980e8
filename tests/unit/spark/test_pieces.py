"""Large values travel from the JVM to Python in pieces, and arrive whole.

What the simulator takes for the JVM's pieces (`pieces_of`) is compared with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.simulator.platform.between import pieces_of
from windowing.engine.tuning import Tuning, tuned
from windowing.spark.sources.pieces import whole_rows

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
