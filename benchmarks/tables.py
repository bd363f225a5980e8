"""What a batch costs in the table sink as its tables grow old, without Spark.

The same frames are written again and again under new numbers, as the driver writes them: token,
results, dead letters, metrics, a commit for each table.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

# Before polars is loaded: as in a driver with one core for this.
os.environ["POLARS_MAX_THREADS"] = "1"

import psutil
import typer
from rich.console import Console

from benchmarks.figures import README, RECORDS, machine, markdown, replace_block
from windowing.engine.reading.pack import RawRows
from windowing.model import Pipeline, parse_pipeline
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import SinkFrame, tagged
from windowing.runtime.token import Stretch, Token
from windowing.spark.sinks.table import TableSink

SIZES = (0, 4, 1_000)
"""Records of a batch."""

_PARTS = 10
"""The first and the last of so many equal parts of the batches are compared."""

console = Console()


@dataclass(frozen=True)
class Cost:
    """What the driver's part of one batch cost.

    Attributes:
        memory_bytes: of the process, after it.
    """

    cpu_ms: float
    wall_ms: float
    memory_bytes: int


def costs_of(size: int, count: int, folder: Path) -> Iterator[Cost]:
    """Write batches; yield what each cost.

    There are `count` batches of `size` records.
    """
    pipeline, process = pipeline_of(), psutil.Process()
    sink = TableSink(pipeline, folder, "run", token_of)
    frames = frames_of(pipeline, size)
    for number in range(count):
        cpu, wall = time.process_time(), time.monotonic()
        sink.take(frames, number)
        yield Cost(
            cpu_ms=1_000 * (time.process_time() - cpu),
            wall_ms=1_000 * (time.monotonic() - wall),
            memory_bytes=process.memory_info().rss,
        )


def pipeline_of() -> Pipeline:
    """Return the pipeline of the tables."""
    return parse_pipeline(
        """
name: tables
source:
  topic: events
  partitions: 4
  format: json
  event_time: {field: ts, unit: us}
  fields: {key: int}
  disorder: ordered
queries:
  windows:
    window: RANGE 10 us SLIDE 10 us WATTR ts
    group_by: [key]
    aggregates: {n: count, total: sum(key)}
sink: {table: tables}
""",
        file="tables.yml",
    )


def frames_of(pipeline: Pipeline, size: int) -> list[SinkFrame]:
    """Return what the engine emits for a batch of so many records, each in its own row."""
    if not size:
        return []
    lanes = pipeline.source.partitions
    batch = {lane: _rows([*range(lane, size, lanes)]) for lane in range(lanes)}
    return [frame for emission in LocalEngine(pipeline).feed(batch) for frame in tagged(emission)]


def _rows(keys: Sequence[int]) -> RawRows:
    """Return a lane's records: one of each key, and one that closes their window."""
    values = [b'{"ts":0,"key":%d}' % key for key in keys] + [b'{"ts":20,"key":0}']
    nothing = [None] * len(values)
    return RawRows([*range(len(values))], values, nothing, nothing)


def token_of(number: int) -> Token:
    """Return the token of a batch."""
    lanes = {lane: Stretch(number, number) for lane in ("events/0", "events/1")}
    return Token(number, lanes, {"events": "id"}, "pipeline")


def main(
    *, count: Annotated[int, typer.Option(min=20, help="How many batches of each size.")] = 2_000
) -> None:
    """Measure what a batch costs against its number, and put it into the README."""
    found = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory(prefix="slackwater-benchmark-") as folder:
            found[size] = [*costs_of(size, count, Path(folder))]
    lines = markdown(_summary(found))
    console.print("\n".join(lines))
    RECORDS.mkdir(parents=True, exist_ok=True)
    said = {"machine": machine(), "costs": {n: [*map(asdict, costs)] for n, costs in found.items()}}
    (RECORDS / "tables.json").write_text(json.dumps(said), encoding="utf-8")
    replace_block(README, "tables", lines)


def _summary(found: dict[int, list[Cost]]) -> list[list[str]]:
    rows = [["records of a batch", "batches", "CPU, ms: median, mean", "time, ms", "memory, MB"]]
    for size, costs in found.items():
        part = len(costs) // _PARTS
        for name, those in (("first", costs[:part]), ("last", costs[-part:])):
            cpu_ms = [cost.cpu_ms for cost in those]
            rows.append(
                [
                    f"{size:,}",
                    f"{name} {part:,} of {len(costs):,}",
                    f"{statistics.median(cpu_ms):.1f}, {statistics.mean(cpu_ms):.1f}",
                    f"{statistics.median(cost.wall_ms for cost in those):.1f}",
                    f"{those[-1].memory_bytes / 2**20:,.0f}",
                ]
            )
    return rows


if __name__ == "__main__":
    typer.run(main)
