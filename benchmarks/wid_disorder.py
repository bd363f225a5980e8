"""Experiments 2 and 3: streams with disorder, and what it costs a window in latency and error.

The streams are seeded, the same on every machine. The engine gives the rows. When a window closes
is read off its generator of progress: with the first element after which the lane's progress has
reached the window's end.

Source: the experiments of Li et al., SIGMOD 2005, section 6, on tuples (seg, speed, ts) of a road
with sensors; sizes and seeds are ours, since the paper's are not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.progress import generator_of
from windowing.engine.reading.pack import RawRows
from windowing.model import Pipeline, parse_pipeline
from windowing.runtime.local import run

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


BATCH_ROWS = 40_000
_NOTHING_YET = np.iinfo(np.int64).min

Mode = Literal["generous", "consistent"]
Error = Callable[[pl.DataFrame], float]
"""From rows beside the true ones, joined by window and seg, to a percentage."""


@dataclass(frozen=True)
class Windows:
    """The windows of an experiment, `RANGE … SLIDE …` over `ts`, per seg."""

    range_us: int
    slide_us: int


@dataclass(frozen=True)
class Point:
    """One configuration, measured.

    Attributes:
        label: which curve it lies on.
        slack_s: the slack, in seconds; None for punctuation.
        latency_s: mean time from a window's end to the element that closes it.
        error_pct: how wrong the rows are, by the experiment's measure.
    """

    label: str
    slack_s: float | None
    latency_s: float
    error_pct: float
    windows: int


def measure(
    stream: Stream,
    windows: Windows,
    error: Error,
    *,
    slack_s: float | None,
    mode: Mode,
    punctuations: Ints | None = None,
) -> Point:
    """Run one configuration.

    Args:
        slack_s: slack in seconds; None: progress comes from punctuations.
        punctuations: for each record, the bound that is written right after it.
    """
    disorder = "punctuation" if slack_s is None else f"{{slack: {round(slack_s * 1e6)} us}}"
    pipeline = _pipeline(windows, disorder, mode)
    after = _progress(stream, pipeline, punctuations)
    measured = _measured(stream, windows)
    closing = np.searchsorted(after, measured)
    reached = closing < len(stream)
    latency_us = stream.arrival_us[closing[reached]] - measured[reached]
    rows = _rows(stream, pipeline, punctuations)
    true = true_rows(stream, windows).filter(pl.col("end").is_in(measured.tolist()))
    joined = true.join(rows, on=["end", "seg"], how="left", suffix="_got")
    return Point(
        label="punctuation" if slack_s is None else mode,
        slack_s=slack_s,
        latency_s=float(latency_us.mean()) / SECOND_US,
        error_pct=error(joined),
        windows=len(measured),
    )


def average_error(joined: pl.DataFrame) -> float:
    """Mean of `100 |got - true| / |true|` over the true averages; a missing row counts 100."""
    true = pl.col("total") / pl.col("n")
    got = pl.col("total_got") / pl.col("n_got")
    each = ((got - true).abs() / true.abs() * 100).fill_null(100.0)
    return float(joined.select(each.mean()).item())


def incorrect(joined: pl.DataFrame) -> float:
    """Percentage of true rows of which count or sum is another, or that are missing."""
    right = (pl.col("n") == pl.col("n_got")) & (pl.col("total") == pl.col("total_got"))
    return float(joined.select((~right.fill_null(value=False)).mean() * 100).item())


def last_of_blocks(stream: Stream) -> Ints:
    """After the last record of each block, the block's end; nothing after the others."""
    ends = stream.block_end_us
    assert ends is not None, "the stream has no blocks"  # noqa: S101
    is_last = np.append(np.diff(ends) != 0, True)
    return np.where(is_last, ends, _NOTHING_YET)


def true_rows(stream: Stream, windows: Windows) -> pl.DataFrame:
    """Count and sum of the speeds of every window and seg, from the records in any order."""
    slide, range_us = windows.slide_us, windows.range_us
    first = pl.col("ts") // slide
    stop = (pl.col("ts") + range_us) // slide
    spread = stream.frame().with_columns(wid=pl.int_ranges(first, stop)).explode("wid")
    ends = ((pl.col("wid") + 1) * slide).alias("end")
    return spread.group_by(ends, "seg").agg(n=pl.len().cast(pl.Int64), total=pl.col("speed").sum())


def _measured(stream: Stream, windows: Windows) -> Ints:
    """The ends of the windows that lie fully within the data, away from its ends."""
    first = windows.range_us // windows.slide_us
    last_us = int(stream.ts_us.max()) - windows.range_us - windows.slide_us
    return np.arange(first + 1, last_us // windows.slide_us + 1, dtype=np.int64) * windows.slide_us


def _pipeline(windows: Windows, disorder: str, mode: Mode) -> Pipeline:
    return parse_pipeline(f"""
name: road
source:
  topic: road
  partitions: 1
  format: json
  event_time: {{field: ts, unit: us}}
  fields: {{seg: int, speed: int}}
  disorder: {disorder}
late: {{policy: drop, mode: {mode}}}
shards: 1
queries:
  q:
    window: RANGE {windows.range_us} us SLIDE {windows.slide_us} us WATTR ts
    group_by: [seg]
    aggregates: {{total: sum(speed)}}
""")


def _progress(stream: Stream, pipeline: Pipeline, punctuations: Ints | None) -> Ints:
    """The lane's progress after each record, and after the bound that follows it."""
    if punctuations is not None:
        return np.maximum.accumulate(punctuations)
    generator = generator_of(pipeline.source.disorder, pipeline.source.lane(0))
    bounds = generator.bounds(pl.DataFrame({"ts_us": stream.ts_us}), [])
    return np.maximum.accumulate(bounds)


def _rows(stream: Stream, pipeline: Pipeline, punctuations: Ints | None) -> pl.DataFrame:
    output = run(pipeline, _batches(stream, punctuations))
    return pl.DataFrame(
        {
            "end": [row.window_end_us for row in output.rows],
            "seg": [row.key[0] for row in output.rows],
            "n": [row.records for row in output.rows],
            "total": [row.values["total"] for row in output.rows],
        },
        schema=dict.fromkeys(("end", "seg", "n", "total"), pl.Int64),
    )


def _batches(stream: Stream, punctuations: Ints | None) -> Iterator[dict[int, RawRows]]:
    """The log in batches: records, each rise of the bound behind its record, and the lane's end."""
    values: list[bytes | None] = []
    controls: list[bytes | None] = []
    columns = (stream.ts_us.tolist(), stream.seg.tolist(), stream.speed.tolist())
    bounds = [None] * len(stream) if punctuations is None else punctuations.tolist()
    highest = 0
    for ts_us, seg, speed, bound in zip(*columns, bounds, strict=True):
        values.append(b'{"ts":%d,"seg":%d,"speed":%d}' % (ts_us, seg, speed))
        controls.append(None)
        if bound is not None and bound > highest:
            highest = bound
            values.append(None)
            controls.append(b'{"bound":%d}' % bound)
    values.append(None)
    controls.append(b'{"end":true}')
    rows = RawRows(range(len(values)), values, controls, [None] * len(values))
    for start in range(0, len(values), BATCH_ROWS):
        yield {0: rows.part(start, start + BATCH_ROWS)}
