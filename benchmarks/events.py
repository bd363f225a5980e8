"""The events that both sides read: synthetic, seeded, written once as Parquet.

One file per batch and lane, as a topic gives one range of offsets per batch and lane. A row has the
bytes of its JSON value, as Kafka would bring it, the same fields as typed columns, and its number
in the order in which the batch arrived.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from numpy.typing import NDArray

from chaos.simulator.draw.values import Values

Ints = NDArray[np.int64]
Shape = Literal["flat", "nested"]
"""Of the values: three members, or two objects with prices, of which a third is filtered."""

LANES = 4
ZIPF = 1.1
DELAYED_SHARE = 0.1
DELAY_MS_MAX = 60_000
SPAN_MS = 2 * 3_600_000
START_MS = 1_700_000_000_000
DENSITY = 1_389
"""Events per second of event time: ten million in two hours."""

_READERS = 2
_SEED = 20_130_101
_INT64_MAX = (1 << 63) - 1
# Two more batches of one record per lane, far ahead: the first makes every window end, and a
# watermark that moves between batches alone needs a second to send them.
_FLUSHES = 2
_FLUSH_AFTER_MS = 7 * 86_400_000
# Windows that end later hold nothing but records of those batches.
END_US = (START_MS + SPAN_MS + 86_400_000) * 1_000


@dataclass(frozen=True)
class Load:
    """What a data set holds, without the few records that end its windows.

    Attributes:
        span_ms: the event time that they cover.
        hard: whether keys and amounts are such as machinery mistakes, to compare results; else
            they are those of users, to measure time.
    """

    events: int
    batches: int
    keys: int = 10_000
    span_ms: int = SPAN_MS
    hard: bool = False
    shape: Shape = "flat"

    @classmethod
    def dense(cls, events: int, batches: int, keys: int, shape: Shape = "flat") -> Load:
        """Return a load of `DENSITY` events per second, however many there are."""
        span_ms = events * 1_000 // DENSITY
        return cls(events, batches, keys, span_ms, shape=shape)

    @property
    def name(self) -> str:
        """The name of its folder."""
        kind = ("-hard" if self.hard else "") + ("" if self.shape == "flat" else f"-{self.shape}")
        return f"{self.events}-in-{self.batches}-{self.keys}-keys-{self.span_ms}-ms{kind}"


def dataset(folder: Path, load: Load) -> Path:
    """Return the folder of a data set, written if it is not there yet."""
    target = folder / load.name
    if not (target / "_SUCCESS").exists():
        target.mkdir(parents=True, exist_ok=True)
        offsets, spelled = np.zeros(LANES, dtype=np.int64), _hard(load) if load.hard else _usual
        for number, (lane, ts_ms, key, amount) in enumerate(_batches(load)):
            frame = _frame(lane, ts_ms, *spelled(key, amount))
            _write(target, number, offsets, _VALUES[load.shape](frame))
        (target / "_SUCCESS").touch()
    return target


def batch_files(data: Path) -> list[list[Path]]:
    """List the files of a data set: of each batch, one per lane."""
    by_batch: dict[str, list[Path]] = {}
    for file in sorted(data.glob("batch-*.parquet")):
        by_batch.setdefault(file.stem.split("-")[1], []).append(file)
    return list(by_batch.values())


def events_of(data: Path) -> list[int]:
    """List how many events each batch of a data set has."""
    return [sum(pq.read_metadata(file).num_rows for file in files) for files in batch_files(data)]


def as_lines(data: Path) -> Path:
    """Return a folder with the same values as lines of text, in the order of arrival.

    There are two files, each with the lanes of one reader, since a reader that changes between
    files would see records that are later than their delay.
    """
    target = data / "lines"
    if not (target / "_SUCCESS").exists():
        for reader in range(_READERS):
            lines = target / f"reader-{reader}"
            lines.mkdir(parents=True, exist_ok=True)
            with (lines / "values.json").open("wb") as out:
                for batch in batch_files(data):
                    own = pl.read_parquet(batch[reader::_READERS], columns=["arrival", "value"])
                    values = own.sort("arrival", maintain_order=True)["value"]
                    out.write(b"".join(value + b"\n" for value in values))
        (target / "_SUCCESS").touch()
    return target


def _batches(load: Load) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
    """Lane, event time, key and amount of each batch's records, in the order of arrival."""
    drawn = np.random.default_rng(_SEED)
    weights = np.arange(1, load.keys + 1, dtype=np.float64) ** -ZIPF
    cumulated = np.cumsum(weights / weights.sum())
    edges = np.linspace(0, load.events, load.batches + 1).astype(np.int64)
    for start, stop in pairwise(edges):
        count = int(stop - start)
        arrival_ms = START_MS + np.arange(start, stop) * load.span_ms // load.events
        delayed = drawn.random(count) < DELAYED_SHARE
        delay_ms = np.where(delayed, drawn.integers(0, DELAY_MS_MAX + 1, count), 0)
        key = np.minimum(np.searchsorted(cumulated, drawn.random(count)), load.keys - 1)
        lane = drawn.integers(0, LANES, count)
        yield lane, arrival_ms - delay_ms, key, drawn.integers(-1_000, 1_000, count)
    lane, zeros = np.arange(LANES), np.zeros(LANES, dtype=np.int64)
    for flush in range(_FLUSHES):
        ahead_ms = START_MS + SPAN_MS + _FLUSH_AFTER_MS * (flush + 1)
        yield lane, zeros + ahead_ms, zeros, zeros


def _usual(key: Ints, amount: Ints) -> tuple[pl.Series, Ints]:
    return pl.Series(key).to_frame("key").select(pl.format("user-{}", "key"))["key"], amount


def _hard(load: Load) -> Callable[[Ints, Ints], tuple[pl.Series, Ints]]:
    """Return a function from numbers of keys to keys and amounts, as the simulator draws them."""
    rng = random.Random(_SEED)
    names = pl.Series(Values.drawn(rng, distinct=load.keys).texts)
    amounts, largest = Values.drawn(rng), _INT64_MAX // (load.events + 1)

    def spelled(key: Ints, amount: Ints) -> tuple[pl.Series, Ints]:
        return names[key], np.array(amounts.column(rng, "int", len(amount), largest), np.int64)

    return spelled


def _frame(lane: Ints, ts_ms: Ints, key: pl.Series, amount: Ints) -> pl.DataFrame:
    frame = pl.DataFrame(
        {"partition": lane, "ts": ts_ms, "key": key, "amount": amount},
        schema_overrides={"partition": pl.Int32},
    ).with_columns(arrival=pl.int_range(pl.len()))
    return frame.with_columns(
        control=pl.lit(None, dtype=pl.Binary), append_us=pl.lit(None, dtype=pl.Int64)
    )


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    return _valued(frame, pl.struct("ts", "key", "amount"))


def _nested(frame: pl.DataFrame) -> pl.DataFrame:
    """Give prices in cents as text, as shops send them; a third of the orders is not paid."""
    amount = pl.col("amount") % 1_000_000
    price = pl.format("{}.{}", amount // 100, (amount % 100).cast(pl.String).str.zfill(2))
    country = pl.when(amount % 7 == 0).then(pl.lit("de")).otherwise(pl.lit("dk"))
    customer = pl.struct(pl.col("key").alias("name"), country.alias("country"))
    order = pl.struct(price.alias("price"), (amount % 5 + 1).alias("quantity"))
    paid = amount % 3 != 1
    return _valued(
        frame, pl.struct("ts", customer.alias("customer"), order.alias("order"), paid.alias("paid"))
    )


def _valued(frame: pl.DataFrame, value: pl.Expr) -> pl.DataFrame:
    return frame.with_columns(value=value.struct.json_encode().cast(pl.Binary))


_VALUES: dict[Shape, Callable[[pl.DataFrame], pl.DataFrame]] = {"flat": _flat, "nested": _nested}


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
