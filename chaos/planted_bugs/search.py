"""Search for planted bugs: run each engine until a check finds the bug."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

from chaos.planted_bugs.planted import PLANTED_BUGS
from chaos.simulator.run import RunResult, draw_case, run_case
from chaos.simulator.simulate import _single_threaded
from chaos.simulator.verdict.checks import CHECKS, SimulatorCheck

Result = TypeVar("Result")

RUNS = 1000
"""Number of runs after which a bug counts as not found."""


@dataclass(frozen=True)
class SearchResult:
    """The result of the search for one bug.

    Attributes:
        name: the bug's name.
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
        """Whether the bug was found by an expected check."""
        return not self.expected.isdisjoint(self.found_by)

    @property
    def line(self) -> str:
        """The result as a line of a table."""
        reasons = ", ".join(self.found_by)
        if not self.found_by:
            return f"{self.name:34} not found in {self.runs} runs"
        line = f"{self.name:34} after {self.runs:4} by {reasons}"
        return line if self.ok else f"{line}: expected {', '.join(sorted(self.expected))}"


def search(name: str, seed: int, runs: int = RUNS) -> SearchResult:
    """Run an engine with a planted bug until a run fails.

    Args:
        name: the bug's name.
        seed: seed of the runs.
        runs: maximum number of runs.
    """
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
        seed: seed of the runs of each engine.
        runs: maximum number of runs for each.
        jobs: number of processes; 1: this one.
        names: names of the bugs; default: all.
    """
    yield from each(partial(search, seed=seed, runs=runs), names, jobs)


def each(task: Callable[[str], Result], names: Iterable[str], jobs: int) -> Iterator[Result]:
    """Do something for each bug, and yield the results in the order of the names.

    Args:
        task: what to do for a name.
        names: the names.
        jobs: number of processes; 1: this one.
    """
    if jobs == 1:
        yield from map(task, names)
        return
    with _single_threaded(), ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        try:
            yield from pool.map(task, names)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
