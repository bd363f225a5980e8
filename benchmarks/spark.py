"""Our path against Spark's own windows, Flink SQL, DuckDB and the floor, on the same bytes.

Every round runs every path once, case by case, so that what disturbs the machine disturbs all of
them; a ratio is taken within its round. Before anything is timed, all paths compute a smaller set
and must agree, row by row. Each run has a process of its own, whose memory is watched.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.table import Table

from benchmarks import figures
from benchmarks.cases import CASES, Case
from benchmarks.figures import OtherWorkError, Record, code
from benchmarks.runs import PATHS, Bench, Progress, Runs, broker, paths_of, whole

ROUNDS = 5
_PUBLISHED_FROM = 3
_CHECK_EVENTS = 200_000
_DATA = figures.RECORDS / "data"

console = Console()


def main(
    *,
    events: Annotated[
        int | None, typer.Option(min=1_000, help="How many events, instead of each case's own.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often each path runs.")] = ROUNDS,
    batches: Annotated[int, typer.Option(min=2, help="Into how many batches they are cut.")] = 8,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only cases or paths with this in their name; may be repeated."),
    ] = None,
    check: Annotated[bool, typer.Option(help="Compare all results on a smaller set first.")] = True,
    check_events: Annotated[
        int, typer.Option(min=1_000, help="How many events that set has.")
    ] = _CHECK_EVENTS,
    cores: Annotated[int, typer.Option(min=1, help="How many cores each run may use.")] = 2,
    memory: Annotated[str, typer.Option(help="The heap of each JVM.")] = "2g",
    budget: Annotated[
        float | None, typer.Option(help="Minutes after which no run begins that would not end.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Go on where these raw figures of the same code end."
        ),
    ] = None,
) -> None:
    """Measure events per second and memory of all paths; whole runs replace the results."""
    cases, paths = _chosen(only or [])
    described = figures.machine() | {"cores_used": cores, "heap": memory, "code": code()}
    command = {"events": events, "rounds": rounds, "batches": batches, "only": only}
    record = Record.new(command, described)
    done = Progress(None if budget is None else time.monotonic() + budget * 60)
    if resume is not None:
        done.measured = whole(_continued(record, resume))
    with broker(cases) as bootstrap:
        bench = Bench(_DATA, cores, memory, batches, check_events, bootstrap)
        if check:
            _compare(bench, cases, paths)
        runs = [(case, path) for case in cases for path in paths_of(case, paths)]
        console.print(f"raw figures, for --resume: {record.file}")
        for number in range(rounds):
            missing = [run for run in runs if not done.has(number, *run)]
            if not _round(bench, missing, done, record):
                console.print("the time is up")
                break
    measured = whole(done.measured)
    rows = figures.table(measured, paths)
    _show(rows)
    fewest = min((len(runs) for found in measured.values() for runs in found.values()), default=0)
    of_all = not only and events is None and check and len(measured) == len(CASES)
    if of_all and fewest >= _PUBLISHED_FROM:
        figures.publish(measured, described)
        figures.into_readme(rows, f"{fewest} rounds, {batches} batches.", described)
    else:
        console.print(
            f"{figures.RESULTS.name} stays: this was a part, or fewer rounds than {_PUBLISHED_FROM}"
        )


def _chosen(only: list[str]) -> tuple[list[Case], tuple[str, ...]]:
    """The cases and paths that the filters leave; a kind that no filter names stays whole."""
    cases = [case for case in CASES if any(text in case.name for text in only)]
    paths = tuple(path for path in PATHS if any(text in path for text in only))
    names = [*(case.name for case in CASES), *PATHS]
    if unknown := [text for text in only if not any(text in name for name in names)]:
        msg = f"nothing is named {unknown[0]!r}; there are: {', '.join(names)}"
        raise typer.BadParameter(msg)
    return cases or list(CASES), paths or PATHS


def _compare(bench: Bench, cases: list[Case], paths: tuple[str, ...]) -> None:
    """Stop unless all paths of each case give the same rows where no record is late."""
    for case in cases:
        expected: pl.DataFrame | None = None
        for path in paths_of(case, paths, with_rows=True):
            found = bench.rows(case, path)
            expected = found if expected is None else expected
            if found.is_empty() or not found.equals(expected):
                console.print(
                    f"{case.name}: {path} gives {len(found):,} rows that differ from the "
                    f"{len(expected):,} of the first path; there is nothing to compare in speed"
                )
                raise typer.Exit(1)
        if expected is not None:
            console.print(f"{case.name}: all agree on {len(expected):,} rows")


def _continued(record: Record, earlier: Path) -> Runs:
    try:
        return record.continued(earlier)
    except OtherWorkError as error:
        raise typer.BadParameter(str(error)) from error


def _round(bench: Bench, runs: list[tuple[Case, str]], done: Progress, record: Record) -> bool:
    """Run these paths of cases once, one after another; return whether there was time for all."""
    for case, path in runs:
        if not done.has_time(case, path):
            return False
        start = time.monotonic()
        run = bench.measured(case, path, record.command["events"] or case.events)
        done.add(case, path, run, time.monotonic() - start)
        record.keep(done.measured)
        console.print(
            f"{case.name}, {path}: {run.rows_per_s / 1000:,.0f} k rows/s, "
            f"{run.peak_bytes / 2**20:,.0f} MB, {run.cpu_s:,.0f} CPU s"
        )
    return True


def _show(rows: list[list[str]]) -> None:
    table = Table(*rows[0], title="events per second once warm")
    for row in rows[1:]:
        table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
