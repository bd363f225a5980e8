"""What a packer sends to a shard of one lane's chunk, before the lane's progress is known."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.changes import Claim
from windowing.engine.columns import AT, BEFORE, OFFSET
from windowing.engine.formats import MessageFormat
from windowing.engine.parcel import Addition
from windowing.engine.progress.reached import Reached

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


class Fate(msgspec.Struct, array_like=True):
    """What became of a chunk's records in one query, or in each variant of a family.

    By the chunk alone.

    Attributes:
        turns: the progress before the chunk from which on that may be otherwise.
        applied, outside, dropped, buried: numbers of records, by variant; the last are dead.
        dead: dead letters (`DEAD_LETTER_SCHEMA`), an Arrow stream; None: there are none.
    """

    turns: int
    applied: list[int]
    outside: list[int]
    dropped: list[int]
    buried: list[int]
    dead: bytes | None


class Records(msgspec.Struct, array_like=True):
    """What decides about the single records of a chunk, in some five bytes for each.

    Offsets and progress rise in small steps, and values are near each other: distances need fewer
    bytes than numbers.

    Attributes:
        shown: the name of the column that dead letters show.
        origins: of each column, what its first distance is measured from.
        distances: by column, modulo 2^64: from the number before if it rises, else from the origin;
            an Arrow stream.
    """

    shown: str
    origins: dict[str, int]
    distances: bytes

    @classmethod
    def of(cls, records: pl.DataFrame, shown: str) -> Records:
        """Return the records of a chunk.

        Args:
            records: in the order of offsets: `offset`, `at` (the attribute), `before` (the progress
                by the chunk alone), and the column `shown`; all are integers.
            shown: the name of the column that dead letters show.
        """
        if records[shown].equals(records[AT], check_dtypes=True):
            records = records.drop(AT)
        columns = {column.name: column.to_numpy() for column in records}
        origins = {name: _origin(name, values) for name, values in columns.items()}
        distances = [
            pl.Series(name, _narrowed(_distances(name, values, origins[name])))
            for name, values in columns.items()
        ]
        sink = io.BytesIO()
        pl.DataFrame(distances).write_ipc_stream(sink, compression="lz4")
        return cls(shown, origins, sink.getvalue())

    def read(self) -> pl.DataFrame:
        """Return the columns that `of` was given."""
        columns = [
            pl.Series(distances.name, _values(distances, self.origins[distances.name]))
            for distances in pl.read_ipc_stream(io.BytesIO(self.distances))
        ]
        records = pl.DataFrame(columns)
        return records if AT in records else records.with_columns(pl.col(self.shown).alias(AT))


_RISING = (OFFSET, BEFORE)
_NARROW = (np.uint8, np.uint16, np.uint32)


def _origin(name: str, values: Ints) -> int:
    if not len(values):
        return 0
    return int(values[0] if name in _RISING else values.min())


def _distances(name: str, values: Ints, origin: int) -> Words:
    before = np.int64(origin)
    if name in _RISING:
        return np.diff(values, prepend=before).view(np.uint64)
    return (values - before).view(np.uint64)


def _values(distances: pl.Series, origin: int) -> Ints:
    far = distances.to_numpy().astype(np.uint64)
    if distances.name in _RISING:
        far = np.cumsum(far)
    return far.view(np.int64) + np.int64(origin)


def _narrowed(values: Words) -> NDArray[np.unsignedinteger[Any]]:
    """Return numbers in as few bytes each as all of them need."""
    most = int(values.max(initial=0))
    narrow = next((type_ for type_ in _NARROW if most <= np.iinfo(type_).max), np.uint64)
    return values.astype(narrow)


class Account(msgspec.Struct, array_like=True):
    """What the lane's home shard needs to account for every record of a chunk.

    Attributes:
        rows: number of rows, control records included.
        data: number of data records before the lane's end.
        bad: dead letters of values that no query can use.
        fates: by query.
        records: by clock, the data records.
        claims: changes of the queries, with progress by the chunk alone.
    """

    rows: int
    data: int
    bad: bytes
    fates: dict[str, Fate]
    records: dict[str, Records]
    claims: list[Claim] = []


class Provisional(msgspec.Struct, array_like=True):
    """One chunk's message to one shard.

    Attributes:
        partition: the lane's.
        first, last: its smallest and largest offset.
        reached: the lane's progress by the chunk alone, by the name of the clock.
        queries: what the chunk adds to each query's state, as the lane's part has scanned it.
        account: for the lane's home shard; None: this is another one.
    """

    partition: int
    first: int
    last: int
    reached: dict[str, Reached]
    queries: dict[str, Addition] = {}
    account: Account | None = None


PROVISIONALS = MessageFormat("a packer sent a chunk", 3, Provisional)
