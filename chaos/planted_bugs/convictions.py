"""Search for planted bugs, and convict them: a recorded case for each, which finds it in one run.

A search draws hundreds of cases; a conviction is what it found, shrunk. It is data, and does not
depend on how cases are drawn. A table for `chaos/coverage.md` says which mechanisms of the engine
the convictions come through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from chaos.planted_bugs.planted import PLANTED_BUGS, PlantedBug
from chaos.simulator.case import Case, read_case, write_case
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import RunResult, draw_case, run_case
from chaos.simulator.shrink import shrink
from chaos.simulator.simulate import process_pool
from chaos.simulator.verdict.checks import CHECKS, SimulatorCheck
from windowing.engine.effects import MECHANISMS, Mechanism

Result = TypeVar("Result")

RUNS = 1000
"""Number of runs after which a bug counts as not found."""


@dataclass(frozen=True)
class SearchResult:
    """The result of the search for one bug.

    Attributes:
        runs: number of runs, including the one that found it.
        found_by: the checks that failed in that run; empty if the bug was not found.
        expected: the checks that may find the bug.
    """

    name: str
    runs: int
    found_by: tuple[SimulatorCheck, ...]
    expected: frozenset[SimulatorCheck]

    @property
    def ok(self) -> bool:
        return not self.expected.isdisjoint(self.found_by)

    @property
    def line(self) -> str:
        reasons = ", ".join(self.found_by)
        if not self.found_by:
            return f"{self.name:34} not found in {self.runs} runs"
        line = f"{self.name:34} after {self.runs:4} by {reasons}"
        return line if self.ok else f"{line}: expected {', '.join(sorted(self.expected))}"


def search(name: str, seed: int, runs: int = RUNS) -> SearchResult:
    """Run an engine with a planted bug until a run fails."""
    bug = PLANTED_BUGS[name]
    for number in range(runs):
        result: RunResult = run_case(draw_case(seed, number, bug.parts), bug.parts)
        failed = {finding.check for finding in result.findings}
        if failed:
            found_by = tuple(check for check in CHECKS if check in failed)
            return SearchResult(name, number + 1, found_by, bug.expected)
    return SearchResult(name, runs, (), bug.expected)


def search_all(
    seed: int, runs: int = RUNS, jobs: int = 1, names: Iterable[str] = PLANTED_BUGS
) -> Iterator[SearchResult]:
    """Search for planted bugs, in the order of the registry.

    Args:
        jobs: number of processes; 1: this one.
    """
    yield from each(partial(search, seed=seed, runs=runs), names, jobs)


def each(task: Callable[[str], Result], names: Iterable[str], jobs: int) -> Iterator[Result]:
    """Do something for each bug, and yield the results in the order of the names.

    Args:
        jobs: number of processes; 1: this one.
    """
    if jobs == 1:
        yield from map(task, names)
        return
    with process_pool(jobs) as pool:
        yield from pool.map(task, names)


_SMALL_RUNS = 100
"""Number of cases that are drawn small before others are: they are found and shrunk faster."""

_TRIES = 300


@dataclass(frozen=True)
class Recording:
    """The result of recording a conviction.

    Attributes:
        runs: number of runs of the search; 0: the file still convicts, and was left alone.
        case: the case; None: there is none.
        found_by: the checks that find the bug in it.
    """

    name: str
    runs: int
    case: Case | None
    found_by: tuple[SimulatorCheck, ...] = ()

    @property
    def ok(self) -> bool:
        return self.case is not None

    @property
    def line(self) -> str:
        if self.case is None:
            return f"{self.name:34} not convicted in {self.runs} runs"
        how = f"after {self.runs:4}" if self.runs else "as recorded"
        size = f"{self.case.records} records, {len(self.case.plan)} steps"
        return f"{self.name:34} {how} by {', '.join(self.found_by)}: {size}"


def conviction(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def convicted(bug: PlantedBug, case: Case) -> tuple[SimulatorCheck, ...]:
    """Return the checks that find a bug in a case; none, if no expected one does.

    A case in which the engine without the bug fails, too, convicts nobody.
    """
    found_by = tuple(finding.check for finding in run_case(case, bug.parts).findings)
    if bug.expected.isdisjoint(found_by) or run_case(case, EngineParts()).findings:
        return ()
    return found_by


def record(name: str, seed: int, runs: int, folder: Path) -> Recording:
    """Record a case that convicts a bug, unless the one that is there still does."""
    bug, file = PLANTED_BUGS[name], conviction(folder, name)
    if file.exists() and (found_by := convicted(bug, case := read_case(file))):
        return Recording(name, 0, case, found_by)
    wish = bug.parts.wish
    small = replace(wish, records_max=12, queries_max=min(2, wish.queries_max), long=0.0)
    for number in range(runs):
        drawn = replace(bug.parts, wish=small if number < _SMALL_RUNS else wish)
        case = draw_case(seed, number, drawn)
        if convicted(bug, case):
            case = shrink(case, lambda smaller: bool(convicted(bug, smaller)), _TRIES)
            write_case(case, file, indent=None)
            return Recording(name, number + 1, case, convicted(bug, case))
    return Recording(name, runs, None)


def record_all(
    folder: Path, seed: int, runs: int = RUNS, jobs: int = 1, names: Iterable[str] = PLANTED_BUGS
) -> Iterator[Recording]:
    yield from each(partial(record, seed=seed, runs=runs, folder=folder), names, jobs)


_NAMED_MAX: Final = 12
"""Of mechanisms that most cases come through, names would say nothing."""

_TABLE: Final = re.compile(r"(?<=<!-- convictions -->\n).*(?=<!-- /convictions -->)", re.DOTALL)


@dataclass(frozen=True)
class BugCoverage:
    """What the engine without a bug does in the case that convicts the bug.

    Attributes:
        mechanisms: those that rows come through; None: there is no case.
    """

    name: str
    mechanisms: frozenset[Mechanism] | None


def reached(
    folder: Path, jobs: int = 1, names: Iterable[str] = PLANTED_BUGS
) -> Iterator[BugCoverage]:
    """Yield what each bug's recorded case comes through; see `convictions.record_all`."""
    yield from each(partial(_reached, folder=folder), names, jobs)


def _reached(name: str, folder: Path) -> BugCoverage:
    file = conviction(folder, name)
    if not file.exists():
        return BugCoverage(name, None)
    return BugCoverage(name, run_case(read_case(file), EngineParts()).mechanisms)


def table(found: Iterable[BugCoverage]) -> list[str]:
    """Return the table as lines of Markdown, with what is found by nights alone."""
    found = list(found)
    by_day = {one.name: one.mechanisms for one in found if one.mechanisms is not None}
    lines = ["| mechanism | planted bugs that `make test` convicts through it | which |"]
    lines.append("|---|---|---|")
    for mechanism in MECHANISMS:
        names = sorted(name for name, through in by_day.items() if mechanism in through)
        named = ", ".join(f"`{name}`" for name in names) if len(names) <= _NAMED_MAX else "many"
        lines.append(f"| {mechanism} | {len(names)} | {named} |")
    others = sorted(f"`{one.name}`" for one in found if one.mechanisms is None)
    searched = "; nights alone search for " + ", ".join(others) if others else ""
    summary = f"Of {len(found)} planted bugs, `make test` convicts {len(by_day)}{searched}."
    return [*lines, "", summary]


def with_table(text: str, lines: Iterable[str]) -> str:
    """Return a page with the table between `<!-- convictions -->` and `<!-- /convictions -->`.

    Raises:
        ValueError: the page has no such place.
    """
    if not _TABLE.search(text):
        msg = "needs lines <!-- convictions --> and <!-- /convictions --> for the table"
        raise ValueError(msg)
    return _TABLE.sub(lambda _: "".join(f"{line}\n" for line in lines), text)
