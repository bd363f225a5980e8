"""The unit costs behind `slackwater capacity`, measured here: `python -m benchmarks.units`.

What all processes need per record is the CPU time by which a longer run, as in `benchmarks.spark`,
exceeds a shorter one, so that their start does not count; what one partition's task and another
query need comes likewise from the core on one thread, and the size of state; the fixed price of a
batch from `benchmarks.latency`. CPU time depends little on what else the machine does.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import asdict
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from benchmarks.cases import CASE
from benchmarks.core import Clock, core_over  # first of those that load polars: one thread
from benchmarks.figures import RECORDS, ROOT, machine
from benchmarks.paths import BY_THE_JVM
from benchmarks.runs import Bench
from windowing.explain.capacity import UNIT_COSTS, Kind, UnitCosts

_CASES: dict[Kind, str] = {
    "tumbling": "tumbling_1",
    "sliding": "sliding_10_1",
    "session": "session_30s",
}
# Some occur only where lanes have a separate step, some only where they are fused.
_LANE = (
    "rows to Python",
    "pack",
    "encode chunks",
    "decode chunks",
    "lane",
    "scan",
    "encode parcels",
)
_QUERY = ("lane", "scan", "encode parcels", "decode parcels", "shard", "encode results")
_CORE_EVENTS = 1_000_000
_WORKER = """
import os, windowing.spark.daemon, windowing.spark.stages
from infra.process import memory_of
print(memory_of(os.getpid()))
"""
_DATA = RECORDS / "data"

console = Console()


def main(
    *,
    events: Annotated[
        int, typer.Option(min=100_000, help="How many events a run has.")
    ] = 4_000_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each run is made.")] = 3,
    cores: Annotated[int, typer.Option(min=1, help="How many cores each run may use.")] = 2,
) -> None:
    """Measure the unit costs, and write them to where `slackwater capacity` reads them."""
    described = machine()
    bench = Bench(_DATA, cores, "2g", batches=8, small_events=10_000)
    core_us, lane_us, query_us = {}, {}, {}
    peaks: list[int] = []
    for kind, name in _CASES.items():
        found = []
        for _ in range(rounds):
            # A deployed job reads a topic, whose rows come by the JVM.
            sizes = (events // 4, events)
            short, long = (bench.measured(CASE[name], BY_THE_JVM, size) for size in sizes)
            found.append((long.cpu_s - short.cpu_s) * 1e6 / (long.rows - short.rows))
            peaks.append(long.peak_bytes)
        core_us[kind] = statistics.median(found)
        core = _core_us(name)
        lane_us[kind] = sum(core.get(step, 0.0) for step in _LANE)
        query_us[kind] = sum(core.get(step, 0.0) for step in _QUERY)
        console.print(f"{kind}: {core_us[kind]:.2f} core-us a record, {lane_us[kind]:.2f} a lane")
    worker_bytes = _worker_bytes()
    costs = UnitCosts(
        machine=f"{described['processor']}, {described['system']}",
        core_us=core_us,
        lane_us=lane_us,
        query_us=query_us,
        batch_s=_batch_s(cores),
        partial_bytes=_partial_bytes(),
        jvm_bytes=statistics.median(peaks) - cores * worker_bytes,
        worker_bytes=worker_bytes,
    )
    text = json.dumps(asdict(costs))
    rounded = json.loads(text, parse_float=lambda digits: float(f"{float(digits):.3g}"))
    UNIT_COSTS.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
    console.print(costs)


def _core_us(name: str) -> dict[str, float]:
    """Return the microseconds per record of each step of the core, without what a batch costs."""
    seconds = []
    for events in (_CORE_EVENTS // 4, _CORE_EVENTS):
        clock = Clock(None)
        core_over(CASE[name].data(_DATA, events, 8), CASE[name], clock)
        seconds.append(clock.seconds)
    short, long = seconds
    more = _CORE_EVENTS - _CORE_EVENTS // 4
    return {step: (long[step] - short[step]) * 1e6 / more for step in long}


def _partial_bytes() -> float:
    """Return the size of state per key, partition and slice, where nothing has closed yet."""
    case = CASE["sliding_60_1"]
    data = case.data(_DATA, _CORE_EVENTS, 8)
    core = core_over(data, case, Clock(None))
    slices = pl.scan_parquet(data / "batch-*.parquet").select(
        "partition", "key", minute=pl.col("ts") // 60_000
    )
    return float(core.state_bytes / slices.unique().select(pl.len()).collect().item())


def _worker_bytes() -> int:
    """Return the memory of a Python worker with its libraries loaded, without rows."""
    command = [sys.executable, "-c", _WORKER]
    return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)


def _batch_s(cores: int) -> float:
    """Return the fixed price of a batch: that of one with four rows."""
    command = [sys.executable, "-m", "benchmarks.latency", "--json", "--cores", str(cores)]
    command += ["--warm-up", "40", "--rounds", "20"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout.splitlines()[-1])["4"]["triggerExecution"] / 1_000)


if __name__ == "__main__":
    typer.run(main)
