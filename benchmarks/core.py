"""The core without Spark: what packing, lanes and shards each cost, on one thread.

Reads the same events as `benchmarks.spark`, in the batches of the log, and drives the same steps as
the Spark stages do, with state in memory.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

# Before polars is loaded: a worker of Spark has one thread, and keeps what polars has freed.
os.environ["POLARS_MAX_THREADS"] = "1"
os.environ["_RJEM_MALLOC_CONF"] = "dirty_decay_ms:5000,muzzy_decay_ms:0"

import polars as pl
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.cases import CASES, Case, pipeline_of
from benchmarks.events import batch_files
from benchmarks.figures import RECORDS
from windowing.engine.fused.scanner import PROVISIONALS, Scanner
from windowing.engine.fused.settler import Settler
from windowing.engine.lane import Lane
from windowing.engine.loops.ready import make_ready
from windowing.engine.plan import plan_of
from windowing.engine.reading.pack import RawRows, pack
from windowing.engine.reading.rules import ValueRules
from windowing.engine.shard import Shard
from windowing.engine.storage.frames import from_bytes, to_bytes
from windowing.engine.storage.parcel import PARCELS, Parcel
from windowing.engine.storage.state import MemoryStore
from windowing.model import Pipeline
from windowing.spark.memory import keep_freed_memory

# As Spark cuts them for the packer.
_ARROW_ROWS = 100_000
_RAW = ("offset", "value", "control", "append_us")

console = Console()


class Clock:
    """CPU seconds by step, and a profile of one of them."""

    def __init__(self, profiled: str | None) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.profile = cProfile.Profile()
        self._profiled = profiled

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count what happens inside to a step."""
        if name == self._profiled:
            self.profile.enable()
        start = time.process_time()
        try:
            yield
        finally:
            self.seconds[name] += time.process_time() - start
            self.profile.disable()


class Core:
    """All lanes and shards of a pipeline, step by step under a clock.

    Args:
        fused: whether lanes have no separate step.

    Attributes:
        state_bytes: the most state that all shards held after a batch.
    """

    def __init__(self, pipeline: Pipeline, clock: Clock, *, fused: bool) -> None:
        self._clock, self._rules = clock, ValueRules.of(pipeline)
        plan = plan_of(pipeline)
        lanes = [Lane(plan, number, "error") for number in range(plan.lanes)]
        self._lanes = [(lane, MemoryStore()) for lane in lanes]
        self._fused = (Scanner(plan), Settler(plan)) if fused else None
        shard = Shard(plan)
        self._shards = [(shard, MemoryStore()) for _ in range(plan.shards)]
        self.results = self.state_bytes = 0

    @property
    def is_fused(self) -> bool:
        """Whether lanes have no separate step."""
        return self._fused is not None

    def feed(self, batch: dict[int, pl.DataFrame]) -> None:
        """Take one batch: raw rows by lane."""
        posted = self._sent(batch) if self._fused is None else self._scanned(batch, self._fused[0])
        step = self._clock.step
        for (shard, store), box in zip(self._shards, posted, strict=True):
            with step("decode parcels"):
                parcels = self._parcels(store, box)
            with step("shard"):
                emission = shard.step(store, parcels)
            with step("encode results"):
                for frame in emission.results.values():
                    to_bytes(frame)
                    self.results += len(frame)
        stores = (store for _, store in self._shards)
        state = sum(len(value) for store in stores for value in store.snapshot().values())
        self.state_bytes = max(self.state_bytes, state)

    def _parcels(self, store: MemoryStore, box: list[bytes]) -> list[Parcel]:
        if self._fused is None:
            return [PARCELS.decode(data) for data in box]
        return self._fused[1].settle(store, [PROVISIONALS.decode(data) for data in box])

    def _scanned(self, batch: dict[int, pl.DataFrame], scanner: Scanner) -> list[list[bytes]]:
        """Return the messages of the packers, by shard."""
        step, posted = self._clock.step, [list[bytes]() for _ in self._shards]
        for number, rows in batch.items():
            chunks = [self._packed(part) for part in rows.iter_slices(_ARROW_ROWS)]
            with step("scan"):
                messages = scanner.scan(number, pl.concat(chunks, rechunk=True))
            with step("encode parcels"):
                for box, message in zip(posted, messages, strict=True):
                    box.append(PROVISIONALS.encode(message))
        return posted

    def _sent(self, batch: dict[int, pl.DataFrame]) -> list[list[bytes]]:
        """Return the parcels of the lanes, by shard."""
        step, posted = self._clock.step, [list[bytes]() for _ in self._shards]
        for number, rows in batch.items():
            chunks = [self._chunk(part) for part in rows.iter_slices(_ARROW_ROWS)]
            lane, store = self._lanes[number]
            with step("decode chunks"):
                frames = [from_bytes(chunk) for chunk in chunks]
            with step("lane"):
                parcels = lane.step(store, frames)
            with step("encode parcels"):
                for box, parcel in zip(posted, parcels, strict=True):
                    box.append(PARCELS.encode(parcel))
        return posted

    def _chunk(self, rows: pl.DataFrame) -> bytes:
        chunk = self._packed(rows)
        with self._clock.step("encode chunks"):
            return to_bytes(chunk)

    def _packed(self, rows: pl.DataFrame) -> pl.DataFrame:
        with self._clock.step("pack"):
            offsets, values, controls, append_us = (rows[name] for name in _RAW)
            return pack(RawRows(offsets, values, controls, append_us), self._rules)


def batches_of(data: Path) -> Iterator[dict[int, pl.DataFrame]]:
    """The batches of a data set."""
    for files in batch_files(data):
        yield {lane: pl.read_parquet(file, columns=list(_RAW)) for lane, file in enumerate(files)}


def core_over(data: Path, case: Case, clock: Clock, *, lanes: bool = False) -> Core:
    """Run the core over a data set, under a clock.

    With `lanes`, lanes have a step of their own in any case.
    """
    pipeline = pipeline_of(case)
    core = Core(pipeline, clock, fused=not lanes and plan_of(pipeline).why_lanes is None)
    for batch in batches_of(data):
        core.feed(batch)
    return core


def main(
    *,
    events: Annotated[int, typer.Option(min=10_000, help="How many events.")] = 1_000_000,
    batches: Annotated[int, typer.Option(min=2, help="Into how many batches they are cut.")] = 8,
    profile: Annotated[
        str | None, typer.Option(help="Step to profile: pack, lane, shard, …")
    ] = None,
    only: Annotated[str, typer.Option(help="Only cases with this in their name.")] = "",
    lanes: Annotated[bool, typer.Option(help="Give lanes a step of their own anyway.")] = False,
) -> None:
    """Measure what each step of the core costs, in CPU seconds on one thread."""
    # As workers do; else the system clears pages anew for every large array.
    make_ready()
    keep_freed_memory()
    for case in (case for case in CASES if not case.from_topic and only in case.name):
        clock = Clock(profile)
        data = case.data(RECORDS / "data", events, batches)
        core = core_over(data, case, clock, lanes=lanes)
        total = sum(clock.seconds.values())
        table = Table(
            "step",
            "CPU s",
            "share",
            "k rows/s",
            title=f"{case.title}, {'fused' if core.is_fused else 'with lanes'}",
        )
        for name, seconds in {**clock.seconds, "all": total}.items():
            speed = events / seconds / 1_000 if seconds else float("inf")
            table.add_row(name, f"{seconds:.2f}", f"{seconds / total:.0%}", f"{speed:,.0f}")
        console.print(table, f"{core.results:,} result rows, state {core.state_bytes:,} bytes")
        if profile is not None:
            if profile not in clock.seconds:
                raise typer.BadParameter(f"no step {profile!r}: {', '.join(clock.seconds)}")
            pstats.Stats(clock.profile).sort_stats("tottime").print_stats(20)


if __name__ == "__main__":
    typer.run(main)
