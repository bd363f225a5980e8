"""Slots: keys for lanes and shards that Spark spreads evenly over its tasks.

Spark sends a key to the task that its hash names. The hashes of a few small numbers are as uneven
as any: of four lanes on two tasks, three share one, and the batch takes half as long again as it
need. So number `i` has a key, its slot, whose hash is `i` modulo `PERIOD`: of any numbers in a row,
every task gets as many as any other, give or take one, if their number divides `PERIOD`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SLOTS = {"partition": "lane_slot", "shard": "shard_slot"}
"""The columns of slots, by those of the numbers that they stand for."""

PERIOD = 20_160
"""Divisible by all numbers of tasks up to 10, and by 12, 14, 16, 18, 20, 24, 32, 40, 48, 64."""

# Slots of numbers that are equal modulo `PERIOD` come from different ranges.
_RANGE_BITS = 20
_SEED = 42


def slot_of(number: int) -> int:
    """Return the key of a lane or shard, from 0 to 2^31 - 1.

    Args:
        number: of the lane or shard, less than 41 million.
    """
    period, rest = divmod(number, PERIOD)
    return int(_first_slots(period)[rest])


def number_of(slot: int) -> int:
    """Return the lane or shard of a slot."""
    rest = int(spark_hash(np.array([slot]))[0]) % PERIOD
    return (slot >> _RANGE_BITS) * PERIOD + rest


@lru_cache(maxsize=4)
def _first_slots(period: int) -> NDArray[np.int64]:
    slots = np.arange(1 << _RANGE_BITS, dtype=np.int64) + (period << _RANGE_BITS)
    first = np.full(PERIOD, -1, dtype=np.int64)
    # Of several values for one place the last one stays.
    first[spark_hash(slots[::-1]) % PERIOD] = slots[::-1]
    return first


def spark_hash(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what Spark's `hash` gives for integers of 32 bits: MurmurHash3 with its seed, signed.

    Source: Appleby, *MurmurHash3* (`MurmurHash3_x86_32` of one block).
    """
    block = values.astype(np.uint32) * np.uint32(0xCC9E2D51)
    block = _rotated(block, 15) * np.uint32(0x1B873593)
    mixed = _rotated(block ^ np.uint32(_SEED), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    mixed ^= np.uint32(4)  # the length in bytes
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        mixed = (mixed ^ (mixed >> np.uint32(shift))) * np.uint32(factor)
    mixed ^= mixed >> np.uint32(16)
    return mixed.view(np.int32).astype(np.int64)


def _rotated(values: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    return (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))
