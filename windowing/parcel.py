"""What travels between the stages: chunks to a lane, parcels from a lane to a shard."""

from __future__ import annotations

import zlib

import msgspec
import polars as pl


class Parcel(msgspec.Struct, array_like=True):
    """What one lane sends to one shard for one batch, be it nothing but progress.

    Attributes:
        partition: the lane's partition.
        progress_us: the lane's progress after the batch.
        partials: per query, an Arrow stream of partial states with their key, window range
            (`w_first`, `w_last`) and `release`.
        due_us: the earliest instant at which any of them asks for a row; None if there are none.
        dead_letters: an Arrow stream (`partition`, `offset`, `query`, `reason`), passed through.
        metrics: an Arrow stream of the lane's counts of the batch, passed through.
    """

    partition: int
    progress_us: int
    partials: dict[str, bytes] = {}
    due_us: int | None = None
    dead_letters: bytes | None = None
    metrics: bytes | None = None


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Parcel)

DEAD_LETTER_SCHEMA = {
    "partition": pl.Int32,
    "offset": pl.Int64,
    "query": pl.String,
    "reason": pl.String,
}
METRIC_SCHEMA = {
    "partition": pl.Int32,
    "query": pl.String,
    "read": pl.Int64,
    "applied": pl.Int64,
    "outside": pl.Int64,
    "dropped": pl.Int64,
    "dead": pl.Int64,
    "redelivered": pl.Int64,
    "first_offset": pl.Int64,
    "last_offset": pl.Int64,
    "progress_us": pl.Int64,
    "ended": pl.Boolean,
}


def encode_parcel(parcel: Parcel) -> bytes:
    """Serialise a parcel."""
    return _encoder.encode(parcel)


def decode_parcel(data: bytes) -> Parcel:
    """Read what `encode_parcel` wrote."""
    return _decoder.decode(data)


def shard_of(keys: pl.DataFrame, shards: int) -> pl.Series:
    """The shard of each key: a hash that never changes, so that a checkpoint stays readable.

    Args:
        keys: the columns of the key, one row per key; at least one column.
        shards: how many shards there are.
    """
    spelled = pl.concat_str(pl.all().cast(pl.String).fill_null("\x00"), separator="\x1f")
    hashes = [zlib.crc32(key.encode()) for key in keys.select(spelled.alias("key"))["key"]]
    return pl.Series("shard", hashes, dtype=pl.UInt32) % shards
