"""What a packer sends to a shard of one lane's chunk, before the lane's progress is known."""

from __future__ import annotations

import msgspec

from windowing.engine.changes import Claim
from windowing.engine.fused.records import Records
from windowing.engine.progress.reached import Reached
from windowing.engine.storage.formats import MessageFormat
from windowing.engine.storage.parcel import Addition


class Fate(msgspec.Struct, array_like=True):
    """What became of a chunk's records in one query, or in each variant of a family.

    By the chunk alone.

    Attributes:
        turns: the progress before the chunk from which on that may be otherwise.
        applied, outside, dropped, buried: numbers of records, by variant; the last are dead.
        dead: dead letters (`DEAD_LETTER_SCHEMA`), a frame as bytes; None: there are none.
    """

    turns: int
    applied: list[int]
    outside: list[int]
    dropped: list[int]
    buried: list[int]
    dead: bytes | None


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


PROVISIONALS = MessageFormat("a packer sent a chunk", 1, Provisional)
