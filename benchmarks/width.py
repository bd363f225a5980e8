"""What a batch costs as a run grows old: many keys, open windows and partitions, many batches.

The lanes and shards of the engine, on one thread, with stores that count what is read and written.
Tumbling windows, and a slack as long as many of them, so that all these are open at once. In each
batch time moves by a hundredth of the slack: from the hundredth batch on as many windows close as
open. Then neither state nor the cost of a batch may grow.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

# Before polars is loaded: a worker of Spark has one thread.
os.environ["POLARS_MAX_THREADS"] = "1"

import numpy as np
import typer
from rich.console import Console

from benchmarks.events import START_MS, ZIPF
from benchmarks.figures import README, RECORDS, machine, markdown, replace_block
from windowing.engine.lane import Lane
from windowing.engine.plan import plan_of
from windowing.engine.reading.pack import RawRows, pack
from windowing.engine.reading.rules import ValueRules
from windowing.engine.shard import Shard
from windowing.engine.storage.parcel import Parcel
from windowing.engine.storage.state import MemoryStore
from windowing.model import Pipeline, parse_pipeline

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "width.png"
_BATCHES_OF_SLACK = 100
_MINUTE_MS = 60_000
_SEED = 20_130_101

console = Console()


@dataclass(frozen=True)
class Width:
    """How wide a run is.

    Attributes:
        keys: how many there are, drawn by Zipf's law.
        windows: how many are open at once.
        batch_rows: records of each.
    """

    keys: int
    windows: int
    partitions: int
    batches: int
    batch_rows: int


SMALL = Width(100_000, 1_000, 8, 200, 4_000)
FULL = Width(1_000_000, 10_000, 64, 1_000, 20_000)


@dataclass(frozen=True)
class Cost:
    """What one batch cost.

    Attributes:
        lanes_ms, shards_ms: CPU time of all lanes, of all shards.
        read_bytes, written_bytes: between the shards and their stores.
        state_bytes: of all shards, after the batch.
    """

    lanes_ms: float
    shards_ms: float
    read_bytes: int
    written_bytes: int
    state_bytes: int
    rows: int


class CountingStore(MemoryStore):
    """A store in memory that counts the bytes that cross it."""

    def __init__(self) -> None:
        super().__init__()
        self.read_bytes = self.written_bytes = 0

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, or None."""
        value = super().get(key)
        self.read_bytes += len(value or b"")
        return value

    def put(self, key: str, value: bytes) -> None:
        """Set the value of a key."""
        self.written_bytes += len(value)
        super().put(key, value)

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Yield all keys that begin with `prefix`, in order, with their values."""
        for key, value in super().scan(prefix):
            self.read_bytes += len(value)
            yield key, value


def costs_of(width: Width) -> Iterator[Cost]:
    """Run the engine; yield what each batch cost."""
    pipeline = pipeline_of(width)
    plan, rules = plan_of(pipeline), ValueRules.of(pipeline)
    lanes = [(Lane(plan, number, "error"), MemoryStore()) for number in range(plan.lanes)]
    shard, stores = Shard(plan), [CountingStore() for _ in range(plan.shards)]
    for batch in _batches(width):
        start = time.process_time()
        posted: list[list[Parcel]] = [[] for _ in stores]
        for (lane, store), rows in zip(lanes, batch, strict=True):
            for box, parcel in zip(posted, lane.step(store, [pack(rows, rules)]), strict=True):
                box.append(parcel)
        between, sent = time.process_time(), 0
        before = _crossed(stores)
        for store, box in zip(stores, posted, strict=True):
            emission = shard.step(store, box)
            sent += sum(map(len, emission.results.values()))
        end, after = time.process_time(), _crossed(stores)
        yield Cost(
            lanes_ms=1_000 * (between - start),
            shards_ms=1_000 * (end - between),
            read_bytes=after[0] - before[0],
            written_bytes=after[1] - before[1],
            state_bytes=sum(len(v) for store in stores for v in store.snapshot().values()),
            rows=sent,
        )


def pipeline_of(width: Width) -> Pipeline:
    """Return the pipeline of a run."""
    return parse_pipeline(
        f"""
name: width
source:
  topic: events
  partitions: {width.partitions}
  format: json
  event_time: {{field: ts, unit: ms}}
  fields: {{key: string, amount: int}}
  disorder: {{slack: {width.windows} minutes}}
queries:
  windows:
    window: RANGE 1 minutes SLIDE 1 minutes WATTR ts
    group_by: [key]
    aggregates: {{n: count, total: sum(amount), largest: max(amount)}}
sink: {{table: width}}
""",
        file="width.yml",
    )


def _batches(width: Width) -> Iterator[list[RawRows]]:
    """Records of each batch by lane; a tenth is delayed by up to the slack."""
    random = np.random.default_rng(_SEED)
    weights = np.arange(1, width.keys + 1, dtype=np.float64) ** -ZIPF
    cumulated = np.cumsum(weights / weights.sum())
    step_ms = width.windows * _MINUTE_MS // _BATCHES_OF_SLACK
    share = width.batch_rows // width.partitions
    for number in range(width.batches):
        batch = []
        for _ in range(width.partitions):
            arrival = START_MS + number * step_ms + np.sort(random.integers(0, step_ms, share))
            delayed = random.random(share) < 0.1
            delay = np.where(delayed, random.integers(0, width.windows * _MINUTE_MS, share), 0)
            keys = np.minimum(np.searchsorted(cumulated, random.random(share)), width.keys - 1)
            amounts = random.integers(-1_000, 1_000, share)
            columns = ((arrival - delay).tolist(), keys.tolist(), amounts.tolist())
            values = [
                b'{"ts":%d,"key":"user-%d","amount":%d}' % one for one in zip(*columns, strict=True)
            ]
            offsets = list(range(number * share, (number + 1) * share))
            nothing = [None] * share
            batch.append(RawRows(offsets, values, nothing, nothing))
        yield batch


def _crossed(stores: list[CountingStore]) -> tuple[int, int]:
    return sum(s.read_bytes for s in stores), sum(s.written_bytes for s in stores)


def growth(costs: list[Cost], name: str) -> float:
    """Return by what factor a cost's mean grows from the first steady quarter to the last.

    Args:
        costs: of all batches, more than those until as many windows close as open.
        name: an attribute of `Cost`.
    """
    steady = [getattr(cost, name) for cost in costs[_BATCHES_OF_SLACK:]]
    quarter = max(1, len(steady) // 4)
    return float(np.mean(steady[-quarter:]) / np.mean(steady[:quarter]))


def table_of(costs: list[Cost]) -> list[list[str]]:
    """Return what a steady batch costs, and how that grows; the mean has the merges of deltas."""
    rows = [["a batch, of the steady ones", "median", "mean", "last quarter / first"]]
    for name in ("lanes_ms", "shards_ms", "read_bytes", "written_bytes", "state_bytes", "rows"):
        steady = [getattr(cost, name) for cost in costs[_BATCHES_OF_SLACK:]]
        median, mean = np.median(steady), np.mean(steady)
        grown = f"{growth(costs, name):.2f}"
        rows.append([name.replace("_", ", "), f"{median:,.0f}", f"{mean:,.0f}", grown])
    return rows


def main(
    *,
    full: Annotated[bool, typer.Option("--full", help="As wide as the page says.")] = False,
    batches: Annotated[int | None, typer.Option(min=110, help="How many batches.")] = None,
) -> None:
    """Measure what a batch costs against its number; a full run replaces figures and picture."""
    width = FULL if full else SMALL
    width = replace(width, batches=batches or width.batches)
    costs: list[Cost] = []
    for cost in costs_of(width):
        costs.append(cost)
        if len(costs) % 50 == 0:
            took_ms = cost.lanes_ms + cost.shards_ms
            console.print(f"batch {len(costs):,}: {took_ms:,.0f} ms, {cost.state_bytes:,} bytes")
    lines = markdown(table_of(costs))
    console.print("\n".join(lines))
    RECORDS.mkdir(parents=True, exist_ok=True)
    said = {"machine": machine(), "width": asdict(width), "costs": [asdict(c) for c in costs]}
    (RECORDS / "width.json").write_text(json.dumps(said), encoding="utf-8")
    if width == FULL:
        about = ", ".join(f"{value:,} {name}" for name, value in asdict(width).items())
        replace_block(README, "width", [f"{about}.".replace("_", " "), "", *lines])
        _draw(costs, PICTURE)


def _draw(costs: list[Cost], target: Path) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - half a second, and only for a full run

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, (above, below) = plt.subplots(2, sharex=True, figsize=(7, 4.5), dpi=90)
    for name in ("lanes", "shards"):
        above.plot([getattr(cost, f"{name}_ms") for cost in costs], label=name, linewidth=0.7)
    for name, label in (
        ("state_bytes", "state"),
        ("read_bytes", "read"),
        ("written_bytes", "written"),
    ):
        below.plot([getattr(cost, name) / 1e6 for cost in costs], label=label, linewidth=0.7)
    above.set_ylabel("CPU ms a batch")
    below.set_ylabel("MB")
    below.set_yscale("log")
    below.set_xlabel("batch")
    for axes in (above, below):
        axes.legend(loc="lower right", fontsize="small")
        axes.set_ylim(bottom=0 if axes is above else None)
    figure.tight_layout()
    figure.savefig(target)


if __name__ == "__main__":
    typer.run(main)
