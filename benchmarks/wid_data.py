"""Streams of the three experiments: seeded, the same on every machine.

Source: the experiments of Li et al., SIGMOD 2005, section 6, on tuples (seg, speed, ts) of a road
with sensors; sizes and seeds are ours, since the paper's are not known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SECOND_US = 1_000_000
STEP_US = 5_000
SEGMENTS = 4
ORDERED_SEED, BOUNDED_SEED, BLOCK_SEED = 42, 43, 44
CHUNK_US = 30 * SECOND_US
BLOCK_US = 60 * SECOND_US

_GAMMA = 0x9E3779B97F4A7C15


class SplitMix64:
    """Steele, Lea and Flood's generator, OOPSLA 2014: numbers in [0, 1) with 53 bits.

    Args:
        seed: 64 bits.
    """

    def __init__(self, seed: int) -> None:
        self._state = np.uint64(seed)

    def draws(self, count: int) -> Floats:
        """The next `count` numbers."""
        steps = np.arange(1, count + 1, dtype=np.uint64)
        with np.errstate(over="ignore"):
            z = self._state + steps * np.uint64(_GAMMA)
            if count:
                self._state = z[-1]
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        return (z >> np.uint64(11)).astype(np.float64) / 2.0**53


@dataclass(frozen=True)
class Stream:
    """Records in the order of their arrival.

    Attributes:
        seg: which part of the road, 0 to `SEGMENTS` - 1.
        speed: whole numbers from 20 to 79.
        arrival_us: when each arrived; never falls.
        block_end_us: for a stream that was shuffled in blocks, the end of each record's block.
    """

    ts_us: Ints
    seg: Ints
    speed: Ints
    arrival_us: Ints
    block_end_us: Ints | None = None

    def __len__(self) -> int:
        return len(self.ts_us)

    def taken(self, order: Ints, arrival_us: Ints) -> Stream:
        """The same records in another order, with other instants of arrival."""
        return Stream(self.ts_us[order], self.seg[order], self.speed[order], arrival_us)

    def shifted(self, by_us: int) -> Stream:
        """The same, all of it later."""
        ends = None if self.block_end_us is None else self.block_end_us + by_us
        return replace(
            self,
            ts_us=self.ts_us + by_us,
            arrival_us=self.arrival_us + by_us,
            block_end_us=ends,
        )

    def frame(self) -> pl.DataFrame:
        """Columns `ts`, `seg`, `speed`."""
        return pl.DataFrame({"ts": self.ts_us, "seg": self.seg, "speed": self.speed})


def ordered(records: int) -> Stream:
    """One record every five milliseconds or so, in order, arriving at once."""
    u = SplitMix64(ORDERED_SEED).draws(3 * records).reshape(records, 3)
    ts_us = np.arange(records) * STEP_US + np.floor(u[:, 0] * STEP_US).astype(np.int64)
    seg = np.floor(SEGMENTS * u[:, 1]).astype(np.int64)
    speed = np.floor(20 + 60 * u[:, 2]).astype(np.int64)
    return Stream(ts_us, seg, speed, ts_us)


def bounded_disorder(records: int) -> Stream:
    """Each record is delayed; every chunk of 30 s has its own largest delay of 1 to 10 s."""
    stream, random = ordered(records), SplitMix64(BOUNDED_SEED)
    delay_us = np.empty(records, dtype=np.int64)
    for chunk in _runs(stream.ts_us // CHUNK_US):
        u = random.draws(1 + len(chunk))
        longest = 1 + np.floor(10 * u[0])
        delay_us[chunk] = np.floor(u[1:] ** 2 * longest * SECOND_US).astype(np.int64)
    arrival_us = stream.ts_us + delay_us
    order = np.argsort(arrival_us, kind="stable")
    return stream.taken(order, arrival_us[order])


def block_sorted(records: int) -> Stream:
    """Blocks of 60 s come in order, the records inside each in none."""
    stream, random = ordered(records), SplitMix64(BLOCK_SEED)
    order = np.arange(records)
    for block in _runs(stream.ts_us // BLOCK_US):
        shuffled = order[block].copy()
        # Fisher and Yates, from the back.
        for place, u in zip(
            range(len(block) - 1, 0, -1), random.draws(len(block) - 1), strict=True
        ):
            other = int(u * (place + 1))
            shuffled[[place, other]] = shuffled[[other, place]]
        order[block] = shuffled
    # The x-th record of a shuffled block takes the x-th instant of the block.
    arrived = stream.taken(order, stream.ts_us)
    return replace(arrived, block_end_us=(arrived.ts_us // BLOCK_US + 1) * BLOCK_US)


def _runs(numbers: Ints) -> list[Ints]:
    return np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers)) + 1)
