"""Our path against Spark's own `window()`, interleaved, on the same bytes.

Every round runs every path once, workload by workload, so that what disturbs the machine disturbs
all of them; a ratio is taken within its round. Before anything is timed, all paths compute a
smaller set and must agree, row by row.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks import figures
from benchmarks.events import dataset
from benchmarks.paths import PATHS, WORKLOADS, Timing, Way, Windows, results, timed
from jobs.session import session

EVENTS = 10_000_000
_CHECK_EVENTS = 200_000
_DATA = figures.RECORDS / "data"
# Each of these takes more than five minutes for the default number of events on two cores.
_SLOW = {("sliding 60 / 1 min", "spark rocksdb")}

console = Console()


def main(
    *,
    events: Annotated[int, typer.Option(min=10_000, help="How many events.")] = EVENTS,
    rounds: Annotated[int, typer.Option(min=1, help="How often each path runs.")] = 3,
    batches: Annotated[int, typer.Option(min=2, help="Into how many batches they are cut.")] = 8,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only workloads or paths with this in their name; may be repeated."),
    ] = None,
    check: Annotated[bool, typer.Option(help="Compare all results on a smaller set first.")] = True,
    slow: Annotated[bool, typer.Option(help="Also run what takes many minutes.")] = False,
    memory: Annotated[str, typer.Option(help="Of Spark's JVM.")] = "6g",
) -> None:
    """Measure events per second of our path and of Spark's own windows."""
    workloads, paths = _chosen(only or [])
    described = figures.machine()
    # The JVM's memory cannot be set once it runs.
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {memory} pyspark-shell"
    spark = session("slackwater benchmark", master=f"local[{os.cpu_count()}]")
    spark.sparkContext.setLogLevel("ERROR")
    try:
        with _progress() as progress:
            if check:
                _compare(spark, workloads, paths, progress)
            data = dataset(_DATA, events, batches)
            runs = [
                (w, p) for w in workloads for p in paths if slow or (w.name, p.name) not in _SLOW
            ]
            timings = _measure(spark, runs, data=data, rounds=rounds, progress=progress)
    finally:
        spark.stop()
    rows = figures.table(timings, [path.name for path in paths])
    _show(rows)
    command = {"events": events, "rounds": rounds, "batches": batches, "only": only}
    console.print(f"raw figures: {figures.record(command, timings, described)}")
    if not only and events == EVENTS:
        about = f"{events:,} events in {batches} batches, {rounds} rounds."
        figures.into_readme(rows, about, described)


def _chosen(only: list[str]) -> tuple[list[Windows], list[Way]]:
    """The workloads and paths that the filters leave; a kind that no filter names stays whole."""
    workloads = [w for w in WORKLOADS if any(text in w.name for text in only)]
    paths = [p for p in PATHS if any(text in p.name for text in only)]
    unknown = [text for text in only if not any(text in part.name for part in (*WORKLOADS, *PATHS))]
    if unknown:
        names = ", ".join(part.name for part in (*WORKLOADS, *PATHS))
        msg = f"nothing is named {unknown[0]!r}; there are: {names}"
        raise typer.BadParameter(msg)
    return workloads or list(WORKLOADS), paths or list(PATHS)


def _compare(
    spark: SparkSession, workloads: list[Windows], paths: list[Way], progress: Progress
) -> None:
    """Stop unless all paths give the same rows where no record is late."""
    data = dataset(_DATA, _CHECK_EVENTS, 4)
    task = progress.add_task("comparing results", total=len(workloads) * len(paths))
    for windows in workloads:
        expected = pl.DataFrame()
        for path in paths:
            progress.update(task, description=f"comparing: {windows.name}, {path.name}")
            found = results(spark, path, windows, data)
            expected = found if path is paths[0] else expected
            if found.is_empty() or not found.equals(expected):
                console.print(
                    f"{windows.name}: {path.name} gives {len(found):,} rows that differ from the "
                    f"{len(expected):,} of {paths[0].name}; there is nothing to compare in speed"
                )
                raise typer.Exit(1)
            progress.advance(task)
        progress.console.print(f"{windows.name}: all agree on {len(expected):,} rows")


def _measure(
    spark: SparkSession,
    runs: list[tuple[Windows, Way]],
    *,
    data: Path,
    rounds: int,
    progress: Progress,
) -> dict[str, dict[str, list[Timing]]]:
    timings: dict[str, dict[str, list[Timing]]] = {windows.name: {} for windows, _ in runs}
    task = progress.add_task("measuring", total=rounds * len(runs))
    for number in range(rounds):
        for windows, path in runs:
            progress.update(task, description=f"round {number + 1}: {windows.name}, {path.name}")
            timing = timed(spark, path, windows, data)
            timings[windows.name].setdefault(path.name, []).append(timing)
            progress.console.print(
                f"round {number + 1}: {windows.name}, {path.name}: "
                f"{timing.rows_per_s / 1000:,.0f} k rows/s"
            )
            progress.advance(task)
    return timings


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console)


def _show(rows: list[list[str]]) -> None:
    table = Table(*rows[0], title="events per second once warm")
    for row in rows[1:]:
        table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
