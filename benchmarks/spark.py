"""Our path against Spark's own windows, Flink SQL, DuckDB and the floor, on the same bytes.

Every round runs every path once, case by case, so that what disturbs the machine disturbs all of
them; a ratio is taken within its round. Before anything is timed, all paths compute a smaller set
and must agree, row by row. Each run has a process of its own, whose memory is watched.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.table import Table

from benchmarks import figures
from benchmarks.cases import CASES, Case
from benchmarks.runs import PATHS, Bench, Measured, broker, paths_of

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
) -> None:
    """Measure events per second and memory of all paths; whole runs replace the results."""
    cases, paths = _chosen(only or [])
    described = figures.machine() | {"cores_used": cores, "heap": memory}
    deadline = None if budget is None else time.monotonic() + budget * 60
    done = _Rounds(deadline)
    with broker(cases) as bootstrap:
        bench = Bench(_DATA, cores, memory, batches, check_events, bootstrap)
        if check:
            _compare(bench, cases, paths)
        runs = [(case, path) for case in cases for path in paths_of(case, paths)]
        for _ in range(rounds):
            if not _round(bench, runs, done, events):
                console.print("the time is up")
                break
    measured = done.complete()
    rows = figures.table(measured, paths)
    _show(rows)
    command = {"events": events, "rounds": rounds, "batches": batches, "only": only}
    console.print(f"raw figures: {figures.record(command, done.measured, described)}")
    fewest = min((len(runs) for found in measured.values() for runs in found.values()), default=0)
    whole = not only and events is None and check and len(measured) == len(CASES)
    if whole and fewest >= _PUBLISHED_FROM:
        figures.publish(measured, described)
        figures.into_readme(rows, f"{fewest} rounds, {batches} batches.", described)
    else:
        console.print(
            f"{figures.RESULTS.name} stays: this was a part, or fewer rounds than {_PUBLISHED_FROM}"
        )


@dataclass
class _Rounds:
    """What was measured so far, and whether there is time for more.

    Attributes:
        deadline: by `time.monotonic`; None: there is none.
        measured: per case and path, one run for each round.
        took_s: per case and path, how long the runs took as a whole.
    """

    deadline: float | None
    measured: dict[str, dict[str, list[Measured]]] = field(default_factory=dict)
    took_s: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def has_time(self, case: Case, path: str) -> bool:
        """Whether a run would end in time, if it takes as long as those before it."""
        if self.deadline is None:
            return True
        before = self.took_s.get((case.name, path), [0.0])
        return time.monotonic() + statistics.median(before) <= self.deadline

    def add(self, case: Case, path: str, run: Measured, took_s: float) -> None:
        """Take a run."""
        self.measured.setdefault(case.name, {}).setdefault(path, []).append(run)
        self.took_s.setdefault((case.name, path), []).append(took_s)

    def complete(self) -> dict[str, dict[str, list[Measured]]]:
        """Return the rounds that every path of a case has run."""
        whole = {}
        for case, found in self.measured.items():
            fewest = min(map(len, found.values()))
            whole[case] = {path: runs[:fewest] for path, runs in found.items()}
        return whole


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


def _round(bench: Bench, runs: list[tuple[Case, str]], rounds: _Rounds, events: int | None) -> bool:
    """Run every path of every case once; return whether there was time for all."""
    for case, path in runs:
        if not rounds.has_time(case, path):
            return False
        start = time.monotonic()
        run = bench.measured(case, path, events or case.events)
        rounds.add(case, path, run, time.monotonic() - start)
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
