"""What a batch costs with ten thousand queries over the flights, and with ten of the same windows.

One Spark job each, on two cores, over the first flights of 2013 in equal batches, into one Delta
table (`layout: one`). CPU time is that of the driver, the JVM and all Python workers together. The
first batches are left out: workers start in them, and read the pipeline file. With `--engine local`
there is no Spark: lanes, shards and the sink in one process.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
import psutil
import typer
from rich.console import Console

from benchmarks.figures import README, RECORDS, machine, markdown, replace_block
from jobs.datasets.flights import flights
from jobs.file_run import finish, one_file_a_batch, own_session
from windowing.engine.fused.scanner import Scanner
from windowing.engine.fused.settler import Settler
from windowing.engine.plan import plan_of
from windowing.engine.reading.pack import RawRows, pack
from windowing.engine.reading.rules import ValueRules
from windowing.engine.shard import Shard
from windowing.engine.storage.state import MemoryStore
from windowing.engine.tuning import tuning
from windowing.explain.families import explain_families
from windowing.model import Pipeline, parse_pipeline
from windowing.runtime.output import SinkFrame, tagged
from windowing.spark.plan import emissions
from windowing.spark.sinks.table import TableSink
from windowing.spark.sinks.written import OnWritten

_SOURCE = """name: many_queries
source:
  topic: flights
  partitions: 3
  format: json
  event_time: {field: sched_us, unit: us, min: "1970-01-01", max: "2100-01-01", max_ahead: 400 days}
  fields: {origin: string, carrier: string, dep_delay: "int?", arr_delay: "int?", cancelled: int}
  disorder: {slack: 3 hours}
late: {policy: update, every: 1 hour}
retention: 12 hours
shards: 2
sink: {table: many_queries, layout: one}
queries:
"""
_HOURS = (1, 2, 3, 4, 6, 8, 12, 24, 48, 72)
_AGGREGATES = "{flights: count, delay: mean(dep_delay), worst: max(dep_delay)}"
_WARM = 3

console = Console()


@dataclass(frozen=True)
class Cost:
    """What the batches of one job cost.

    Attributes:
        batch_ms: the median of how long a batch took.
        cpu_ms: the median of its CPU time, of all processes.
        rows: results per batch, on average.
        peak_bytes: the most memory of the Python workers together, or of the one process, after any
            batch.
        state: what `explain` says of the state.
    """

    queries: int
    batch_ms: float
    cpu_ms: float
    rows: float
    peak_bytes: int
    state: str


def main(
    *,
    queries: Annotated[int, typer.Option(min=20)] = 10_000,
    records: Annotated[int, typer.Option(min=1_000, help="How many flights.")] = 60_000,
    batches: Annotated[int, typer.Option(min=5, help="Into how many batches they are cut.")] = 15,
    engine: Annotated[Literal["spark", "local"], typer.Option(help="Where they run.")] = "spark",
) -> None:
    """Measure both, one after the other, and write the figures into the README."""
    log = flights(records).filter(pl.col("control").is_null())
    cut = list(_cut(log, batches))
    measure = {"spark": on_spark, "local": in_process}[engine]
    costs = [measure(pipeline_of(count), cut) for count in (len(_HOURS), queries)]
    lines = _lines(costs, records, batches, engine)
    for line in lines:
        console.print(line, markup=False)
    RECORDS.mkdir(parents=True, exist_ok=True)
    costs_of = [asdict(cost) for cost in costs]
    record = {"machine": machine(), "engine": engine, "costs": costs_of}
    (RECORDS / f"many_queries_{engine}.json").write_text(json.dumps(record, indent=1), "utf-8")
    replace_block(README, f"many queries {engine}", lines)


def pipeline_of(count: int) -> Pipeline:
    """Return a pipeline with so many queries, which have ten windows among them."""
    lines = [
        f"  q{number:05d}: {{window: RANGE {2 * hours} hours SLIDE {hours} hours WATTR sched_us, "
        f"group_by: [origin], aggregates: {_AGGREGATES}}}\n"
        for number in range(count)
        for hours in [_HOURS[number % len(_HOURS)]]
    ]
    return parse_pipeline(_SOURCE + "".join(lines))


def in_process(pipeline: Pipeline, batches: list[dict[int, RawRows]]) -> Cost:
    """Run lanes, shards and the sink over batches in this process, and say what they cost."""
    took: list[tuple[float, float, int]] = []
    rows: list[int] = []
    with tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder:
        sink = TableSink(pipeline, Path(folder), "bench", on_written=_counting(rows))
        core = Core(pipeline)
        for number, batch in enumerate(batches):
            began, cpu = _now(), time.process_time()
            sink.take(core.frames(batch), number)
            resident = psutil.Process().memory_info().rss
            took.append((_now() - began, time.process_time() - cpu, resident))
    return _cost(pipeline, took, rows)


class Core:
    """Scanner, settler and shards of a pipeline, without Spark."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._plan, rules = plan_of(pipeline), ValueRules.of
        self._rules = [rules(pipeline, number) for number in range(self._plan.lanes)]
        self._scanner, self._settler = Scanner(self._plan), Settler(self._plan)
        self._shard = Shard(self._plan)
        self._stores = [MemoryStore() for _ in range(self._plan.shards)]

    def frames(self, batch: Mapping[int, RawRows]) -> list[SinkFrame]:
        """Process a batch, and return its frames for a sink."""
        chunks = [
            self._scanner.scan(number, pack(rows, self._rules[number]))
            for number, rows in batch.items()
        ]
        found: list[SinkFrame] = []
        for number, store in enumerate(self._stores):
            parcels = self._settler.settle(store, [chunk[number] for chunk in chunks])
            found += tagged(self._shard.step(store, parcels))
        return found


def on_spark(pipeline: Pipeline, batches: list[dict[int, RawRows]]) -> Cost:
    """Run a Spark job over batches, and say what they cost."""
    took: list[tuple[float, float, int]] = []
    rows: list[int] = []
    with (
        tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder,
        own_session("slackwater many queries") as spark,
    ):
        sink = TableSink(pipeline, Path(folder) / "tables", "bench", on_written=_counting(rows))
        begun = [_now(), _cpu_s()]

        def write(batch: object, number: int) -> None:
            sink.write(batch, number)
            now, cpu = _now(), _cpu_s()
            took.append((now - begun[0], cpu - begun[1], _worker_bytes()))
            begun[:] = now, cpu

        raw = one_file_a_batch(spark, batches, Path(folder))
        stream = emissions(raw, pipeline, fused=plan_of(pipeline).why_lanes is None)
        finish(stream, write, Path(folder))
    return _cost(pipeline, took, rows)


def _counting(rows: list[int]) -> OnWritten:
    return lambda one: rows.append(sum(portion.count for portion in one.portions))


def _cost(pipeline: Pipeline, took: list[tuple[float, float, int]], rows: list[int]) -> Cost:
    warm = took[_WARM:]
    return Cost(
        queries=len(pipeline.flows),
        batch_ms=statistics.median(wall for wall, _, _ in warm) * 1_000,
        cpu_ms=statistics.median(cpu for _, cpu, _ in warm) * 1_000,
        rows=statistics.mean(rows[_WARM:]),
        peak_bytes=max(size for _, _, size in took),
        state=next(
            iter(explain_families(plan_of(pipeline))),
            f"fewer than {tuning().share_from_queries} queries",
        ),
    )


def _cut(log: pl.DataFrame, batches: int) -> Iterator[dict[int, RawRows]]:
    size = -(-len(log) // batches)
    for part in log.iter_slices(size):
        yield {
            int(number): RawRows(
                rows["offset"].to_list(),
                [value.encode() for value in rows["value"]],
                [None] * len(rows),
                rows["append_us"].to_list(),
            )
            for (number,), rows in part.group_by("partition")
        }


def _processes() -> list[psutil.Process]:
    own = psutil.Process(os.getpid())
    return [own, *own.children(recursive=True)]


def _cpu_s() -> float:
    """Return the CPU time of this process and its descendants, those that ended included."""
    total = 0.0
    for process in _processes():
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def _worker_bytes() -> int:
    found = 0
    for process in _processes()[1:]:
        try:
            if "python" in process.name():
                found += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return found


def _now() -> float:
    return time.monotonic()


def _lines(costs: list[Cost], records: int, batches: int, engine: str) -> list[str]:
    few, many = costs
    table = [
        ["queries", "batch", "CPU per batch", "results per batch", "memory of Python"],
        *(
            [
                f"{cost.queries:,}",
                f"{cost.batch_ms:,.0f} ms",
                f"{cost.cpu_ms:,.0f} ms",
                f"{cost.rows:,.0f}",
                f"{cost.peak_bytes / 1e6:,.0f} MB",
            ]
            for cost in costs
        ),
    ]
    ratio = f"{many.batch_ms / few.batch_ms:.1f}× as long, {many.cpu_ms / few.cpu_ms:.1f}× the CPU"
    where = "One Spark job each" if engine == "spark" else "Without Spark, in one process"
    return [
        "",
        *markdown(table),
        "",
        f"{where}: {records:,} flights in {batches} batches, the same ten windows: {ratio}. "
        f"`explain`: {many.state}.",
        "",
    ]


if __name__ == "__main__":
    typer.run(main)
