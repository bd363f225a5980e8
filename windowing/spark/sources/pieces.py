"""How raw rows travel from the JVM to Python: in small Arrow batches, large values in pieces.

Spark may limit an Arrow batch by bytes; then it adds up the sizes of all columns again after every
row, which takes nearly half of its executors' time over small records. A limit of rows costs
nothing, but is only one if rows are small. So a large value is cut in the JVM, every batch has a
thousand rows of little more than 64 KiB at most, and Python puts values and batches together again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windowing.engine.effects import took_effect
from windowing.engine.tuning import Tuning, tuning

Batches = Iterator[pa.RecordBatch]
Stage = Callable[[Batches], Batches]


def whole_rows() -> Stage:
    """Return the stage that puts values together which this process cuts, in larger batches."""
    limits = (
        tuning()
    )  # the driver's, which are those of `windowing.spark.sources.reading.in_pieces`

    def whole(batches: Batches) -> Batches:
        return _whole(_gathered(batches, limits), limits)

    return whole


def _gathered(batches: Batches, limits: Tuning) -> Batches:
    """Yield consecutive batches as one: most of what a stage does, it does once for each."""
    held, rows, size = list[pa.RecordBatch](), 0, 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= limits.gathered_rows or size >= limits.gathered_bytes:
            yield pa.concat_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.concat_batches(held)


def _whole(batches: Batches, limits: Tuning) -> Batches:
    """Yield the rows with their values in one piece; a value's pieces may be in two batches."""
    rest, pieces = list[pa.RecordBatch](), limits.value_pieces
    for batch in batches:
        rows = pa.concat_batches([*rest, batch]) if rest else batch
        starts = _cut(rows, limits)
        is_whole = not starts or starts[-1] + pieces <= len(rows)
        end = len(rows) if is_whole else starts.pop()
        rest = [] if is_whole else [rows.slice(end)]
        yield _joined(rows.slice(0, end), starts, pieces)
    if rest:
        msg = f"a value is missing its last pieces: {len(rest[0])} of {pieces} are there"
        raise ValueError(msg)


def _cut(rows: pa.RecordBatch, limits: Tuning) -> list[int]:
    """Return at which rows the first pieces of values are."""
    sizes = pc.fill_null(pc.binary_length(rows["value"]), 0).to_numpy()
    starts, free = list[int](), 0
    for row in np.flatnonzero(sizes > limits.whole_value_bytes_max).tolist():
        if row >= free:
            starts.append(row)
            free = row + limits.value_pieces
    return starts


def _joined(rows: pa.RecordBatch, starts: list[int], pieces: int) -> pa.RecordBatch:
    """Return the rows, with the pieces that begin at some of them as one value each."""
    if not starts:
        return rows
    took_effect("values in pieces", len(starts))
    is_kept, values = np.ones(len(rows), dtype=bool), rows["value"].to_pylist()
    for start in starts:
        end = start + pieces
        is_kept[start + 1 : end], values[start] = False, b"".join(values[start:end])
    place, type_ = rows.schema.get_field_index("value"), rows["value"].type
    joined = rows.set_column(place, rows.schema.field(place), pa.array(values, type_))
    return joined.filter(pa.array(is_kept))
