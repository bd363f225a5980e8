"""The events that both sides read: synthetic, seeded, written once as Parquet.

One file per batch and lane, as a topic gives one range of offsets per batch and lane. A row has the
bytes of its JSON value, as Kafka would bring it, and the same fields as typed columns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int64]

LANES = 4
KEYS = 10_000
ZIPF = 1.1
DELAYED_SHARE = 0.1
DELAY_MS_MAX = 60_000
SPAN_MS = 2 * 3_600_000
START_MS = 1_700_000_000_000
_SEED = 20_130_101
# Two more batches of one record per lane, far ahead: the first makes every window end, and a
# watermark that moves between batches alone needs a second to send them.
_FLUSHES = 2
_FLUSH_AFTER_MS = 7 * 86_400_000
# Windows that end later hold nothing but records of those batches.
END_US = (START_MS + SPAN_MS + 86_400_000) * 1_000


def dataset(folder: Path, events: int, batches: int) -> Path:
    """The folder of a data set, written if it is not there yet.

    Args:
        folder: of all data sets.
        events: how many records, without the few that end the windows.
        batches: into how many batches they are cut.
    """
    target = folder / f"events-{events}-in-{batches}"
    if not (target / "_SUCCESS").exists():
        target.mkdir(parents=True, exist_ok=True)
        offsets = np.zeros(LANES, dtype=np.int64)
        for number, (lane, ts_ms, key, amount) in enumerate(_batches(events, batches)):
            _write(target, number, offsets, _frame(lane, ts_ms, key, amount))
        (target / "_SUCCESS").touch()
    return target


def _batches(events: int, batches: int) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
    """Lane, event time, key and amount of each batch's records, in the order of arrival."""
    random = np.random.default_rng(_SEED)
    weights = np.arange(1, KEYS + 1, dtype=np.float64) ** -ZIPF
    cumulated = np.cumsum(weights / weights.sum())
    edges = np.linspace(0, events, batches + 1).astype(np.int64)
    for start, stop in pairwise(edges):
        count = int(stop - start)
        arrival_ms = START_MS + np.arange(start, stop) * SPAN_MS // events
        delayed = random.random(count) < DELAYED_SHARE
        delay_ms = np.where(delayed, random.integers(0, DELAY_MS_MAX + 1, count), 0)
        key = np.minimum(np.searchsorted(cumulated, random.random(count)), KEYS - 1)
        lane = random.integers(0, LANES, count)
        yield lane, arrival_ms - delay_ms, key, random.integers(-1_000, 1_000, count)
    lane, zeros = np.arange(LANES), np.zeros(LANES, dtype=np.int64)
    for flush in range(_FLUSHES):
        ahead_ms = START_MS + SPAN_MS + _FLUSH_AFTER_MS * (flush + 1)
        yield lane, zeros + ahead_ms, zeros, zeros


def _frame(lane: Ints, ts_ms: Ints, key: Ints, amount: Ints) -> pl.DataFrame:
    frame = pl.DataFrame(
        {"partition": lane, "ts": ts_ms, "key": key, "amount": amount},
        schema_overrides={"partition": pl.Int32},
    ).with_columns(key=pl.format("user-{}", "key"))
    return frame.with_columns(
        value=pl.struct("ts", "key", "amount").struct.json_encode().cast(pl.Binary),
        control=pl.lit(None, dtype=pl.Binary),
        append_us=pl.lit(None, dtype=pl.Int64),
    )


def _write(target: Path, number: int, offsets: Ints, frame: pl.DataFrame) -> None:
    for lane in range(LANES):
        part = frame.filter(pl.col("partition") == lane)
        numbered = part.with_columns(
            offset=pl.int_range(offsets[lane], offsets[lane] + len(part), dtype=pl.Int64)
        )
        offsets[lane] += len(part)
        file = target / f"batch-{number:04d}-lane-{lane}.parquet"
        numbered.write_parquet(file, compression="snappy", row_group_size=100_000)
        # A file source takes the oldest files first: their times say the order of batches.
        os.utime(file, (START_MS // 1_000 + number * 60,) * 2)
