"""How long `slackwater overview` takes on a run of a year: first, again, and after a new batch.

Each is a process of its own, as a page starts it. `python -m benchmarks.overview --help`.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.old_run import OldRun
from infra.layout import STATE_DIR_VARIABLE
from windowing.model import load_pipeline


def main(
    lanes: Annotated[int, typer.Option(help="Number of lanes.")] = 64,
    batches: Annotated[int, typer.Option(help="Number of batches, over a year.")] = 4_000,
    rows: Annotated[int, typer.Option(help="Number of rows.")] = 4_000_000,
    rounds: Annotated[int, typer.Option(help="How often each is measured.")] = 5,
) -> None:
    """Measure it; seconds of the wall clock, and of the processor."""
    with tempfile.TemporaryDirectory(prefix="slackwater-overview-") as folder:
        old = OldRun(Path(folder), lanes=lanes, batches=batches, rows=rows)
        old.make()
        print(f"{lanes} lanes, {batches:,} batches, {rows:,} rows")
        pipeline = load_pipeline(old.file)
        logs = old.logs(pipeline)
        for number in range(rounds):
            (Path(folder) / "runs/old/r1/overview_cache.json").unlink(missing_ok=True)
            first, again = _took(old.file), _took(old.file)
            old.add(pipeline, logs, batches + number)
            print(f"first {first}; again {again}; after a batch {_took(old.file)}")


def _took(file: Path) -> str:
    command = [str(Path(sys.executable).with_name("slackwater")), "overview", str(file), "--json"]
    began, before = time.perf_counter(), _processor_s()
    environment = {**os.environ, STATE_DIR_VARIABLE: str(file.parent)}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return f"{time.perf_counter() - began:.2f} s ({_processor_s() - before:.2f} s of processor)"


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    typer.run(main)
