"""What Spark does before, between and behind the stages: it cuts, sends and groups rows.

Rows travel as bytes of Arrow, as between Spark and its workers. Every order and every cut that
Spark leaves open is drawn.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from windowing.engine.reading.pack import RawRows
from windowing.engine.tuning import tuning
from windowing.model.metadata import TIMESTAMP
from windowing.spark.sources.pieces import Batches

RAW = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("value", pa.binary()),
        ("control", pa.binary()),
        ("append_us", pa.int64()),
    ]
)
"""`windowing.spark.stages.RAW_SCHEMA`."""

RawTask = Sequence[tuple[int, RawRows]]
"""What one task reads: consecutive records of some lanes."""

_CUTS = 3


def _carried_type(name: str) -> pa.DataType:
    return pa.int64() if name == TIMESTAMP else pa.binary()


class Between:
    """Spark, between the stages of one attempt at a batch."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def tasks(self, chunks: Mapping[int, Sequence[RawRows]]) -> list[RawTask]:
        """Return the tasks that read a batch; each has at most one chunk of a lane."""
        tasks: list[list[tuple[int, RawRows]]] = []
        for lane, parts in chunks.items():
            # Chunks of the same lane are never read together: they would be one.
            others = [task for task in tasks if self.rng.random() < 0.5]
            for rows in parts:
                if others:
                    others.pop().append((lane, rows))
                else:
                    tasks.append([(lane, rows)])
        return [*tasks]

    def raw(self, task: RawTask) -> Batches:
        """Yield a task's raw rows, with large values in pieces.

        Files may have rows of a range in any order; where that is scanned in parts, in theirs.
        """
        carried = [*dict.fromkeys(name for _, part in task for name in part.metadata)]
        rows = [
            (lane, *row)
            for lane, part in task
            for row in zip(
                part.offsets,
                part.values,
                part.controls,
                part.append_us,
                *(part.metadata.get(name, [None] * len(part.offsets)) for name in carried),
                strict=True,
            )
        ]
        if len(rows) < tuning().scanned_rows:
            self.rng.shuffle(rows)
        cut = [
            (lane, offset, piece, *others)
            for lane, offset, value, *others in rows
            for piece in pieces_of(value)
        ]
        schema = pa.schema([*RAW, *((name, _carried_type(name)) for name in carried)])
        columns = zip(zip(*cut, strict=True), schema, strict=True)
        arrays = [pa.array(values, field.type) for values, field in columns]
        yield from self._sent([pa.RecordBatch.from_arrays(arrays, schema=schema)])

    def grouped(
        self, messages: Sequence[pa.RecordBatch], slots: Sequence[int]
    ) -> dict[int, list[bytes]]:
        """Return the messages for each key, by slot; a number that has no slot is an error.

        Args:
            messages: of all tasks of the stage before; their first column has numbers.
        """
        found = defaultdict[int, list[pa.RecordBatch]](list)
        for batch in messages:
            numbers = batch.column(0).to_pylist()
            for number in dict.fromkeys(numbers):
                rows = [at for at, one in enumerate(numbers) if one == number]
                found[slots[number]].append(batch.take(pa.array(rows)).select([1]))
        return {slot: [row for (row,) in self.sent(own)] for slot, own in found.items()}

    def returned(self, rows: Sequence[Sequence[Any]], schema: pa.Schema) -> list[pa.RecordBatch]:
        """Return what a stage gives, as the next one gets it."""
        columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
        arrays = [pa.array(own, one.type) for own, one in zip(columns, schema, strict=True)]
        return [*self._sent([pa.RecordBatch.from_arrays(arrays, schema=schema)])]

    def sent(self, batches: Sequence[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a key as its stage gets them."""
        whole = pa.Table.from_batches(batches).combine_chunks().to_batches() if batches else []
        for batch in self._sent(whole):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _sent(self, batches: Batches | Sequence[pa.RecordBatch]) -> Batches:
        """Send batches as bytes, cut anywhere."""
        for batch in batches:
            sent = pa.BufferOutputStream()
            with pa.ipc.new_stream(sent, batch.schema) as stream:
                for start, stop in self._cuts(batch.num_rows):
                    stream.write_batch(batch.slice(start, stop - start))
            yield from pa.ipc.open_stream(sent.getvalue())

    def _cuts(self, rows: int) -> Iterator[tuple[int, int]]:
        ends = sorted(self.rng.randint(0, rows) for _ in range(self.rng.randrange(_CUTS)))
        start = 0
        for end in (*ends, rows):
            if end > start:
                yield start, end
            start = end


def pieces_of(value: bytes | None) -> list[bytes | None]:
    """Return what the JVM sends of a value, as `windowing.spark.sources.reading.in_pieces` says."""
    size = tuning().whole_value_bytes_max + 1
    if value is None or len(value) < size:
        return [value]
    *starts, last = (number * size for number in range(tuning().value_pieces))
    return [*(value[start : start + size] for start in starts), value[last:]]
