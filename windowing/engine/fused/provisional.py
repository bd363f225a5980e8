"""What a packer sends to a shard of one lane's chunk, before the lane's progress is known."""

from __future__ import annotations

import msgspec

from windowing.engine.changes import Claim
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.storage.formats import MessageFormat
from windowing.engine.storage.parcel import Addition


class Account(msgspec.Struct, array_like=True):
    """What the lane's home shard needs to account for every record of a chunk.

    Attributes:
        rows: number of rows, control records included.
        data: number of data records before the lane's end.
        bad: dead letters of values that no query can use.
        records: by clock, what decides about each data record, a frame as bytes: `offset`, what
            dead letters show, `before` (the progress by the chunk alone), and `at`, the attribute,
            if it is not what they show.
        claims: changes of the queries, with progress by the chunk alone.
        withheld: offset and fate of records that no window sees, a frame as bytes; None: none.
    """

    rows: int
    data: int
    bad: bytes
    records: dict[str, bytes]
    claims: list[Claim] = []
    withheld: bytes | None = None


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
    reached: dict[str, LaneProgress]
    queries: dict[str, Addition] = {}
    account: Account | None = None


PROVISIONALS = MessageFormat("a packer sent a chunk", 1, Provisional)
