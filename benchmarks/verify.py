"""How long `slackwater verify` takes, and how much memory, by the length of the log.

    python -m benchmarks.verify FOLDER EVENTS [EVENTS…]

For each length: writes the log, runs the pipeline over it, verifies its output in a process of its
own, and prints a line of docs/verify.md. Memory is that of all the verification's processes
together (proportional set sizes: a page that several share counts once), sampled each second.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import psutil

from benchmarks.events import Load, dataset

_BATCH = 50_000
_SLACKWATER = (sys.executable, "-m", "slackwater")

PIPELINE = """
name: verified
source:
  topic: payments
  partitions: 4
  format: json
  event_time: {field: ts, unit: ms}
  fields: {key: string, amount: int}
  disorder: {slack: 60 s}
queries:
  tumbling:
    window: RANGE 1 min SLIDE 1 min WATTR ts
    group_by: [key]
    aggregates: {n: count, total: sum(amount), most: max(amount)}
"""


def measure(folder: Path, events: int) -> str:
    """Return a line of the table: records, rows, seconds, seconds of all cores, memory in GB."""
    pipeline, log, output = (folder / f"{events}{end}" for end in (".yml", ".jsonl", ".out.jsonl"))
    pipeline.write_text(PIPELINE)
    if not log.exists():
        _write(dataset(folder, Load(events, max(1, events // 1_000_000))), log)
    if not output.exists():
        subprocess.run(
            [*_SLACKWATER, "run", pipeline, "--input", log, "--output", output], check=True
        )
    began_s, busy_s, most = time.monotonic(), _busy_s(), 0
    process = psutil.Popen([*_SLACKWATER, "verify", pipeline, "--input", log, "--output", output])
    while process.poll() is None:
        most = max(most, _resident(process))
        time.sleep(1)
    if process.returncode != 0:
        raise SystemExit(process.returncode)
    took_s, busy_s = time.monotonic() - began_s, _busy_s() - busy_s
    with output.open("rb") as file:
        rows = sum(1 for _ in file)
    return f"| {events:,} | {rows:,} | {took_s:.0f} | {busy_s:.0f} | {most / 1e9:.2f} |"


def _busy_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _resident(process: psutil.Popen) -> int:
    """Return the bytes that a process and its children hold in memory; shared pages once."""
    total = 0
    for one in (process, *process.children(recursive=True)):
        try:
            total += one.memory_full_info().pss
        except psutil.NoSuchProcess:  # it ended meanwhile
            continue
    return total


def _write(batches: Path, log: Path) -> None:
    with log.open("w") as file:
        for part in sorted(batches.glob("*.parquet")):
            for partition, offset, value in (
                pl.read_parquet(part).select("partition", "offset", "value").iter_rows()
            ):
                place = {"source": "payments", "partition": partition, "offset": offset}
                file.write(json.dumps(place)[:-1] + f', "value": {value.decode()}}}\n')


if __name__ == "__main__":
    for length in sys.argv[2:]:
        print(measure(Path(sys.argv[1]), int(length)), flush=True)
