"""The search for the guilty: each engine run until it is found, and what has found it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from chaos.planted_bugs import PLANTED_BUGS
from chaos.simulator.run import RunResult, draw_case, run_case
from chaos.simulator.simulate import _single_threaded
from chaos.simulator.verdict.checks import CHECKS, SimulatorCheck

RUNS = 1000
"""An engine that is not found in so many runs counts as not found."""


@dataclass(frozen=True)
class SearchResult:
    """What came of the search for one engine.

    Attributes:
        name: of the engine.
        runs: how many there were, the one that found it among them.
        found_by: the checks that failed in that one; none: it was not found.
        expected: the checks that may convict it.
    """

    name: str
    runs: int
    found_by: tuple[SimulatorCheck, ...]
    expected: frozenset[SimulatorCheck]

    @property
    def ok(self) -> bool:
        """It was found, and for a reason that was expected."""
        return not self.expected.isdisjoint(self.found_by)

    @property
    def line(self) -> str:
        """The verdict in one line of a table."""
        reasons = ", ".join(self.found_by)
        if not self.found_by:
            return f"{self.name:34} not found in {self.runs} runs"
        told = f"{self.name:34} after {self.runs:4} by {reasons}"
        return told if self.ok else f"{told}: expected {', '.join(sorted(self.expected))}"


def search(name: str, seed: int, runs: int = RUNS) -> SearchResult:
    """Run a guilty engine until a run fails.

    Args:
        name: of the engine.
        seed: of the runs.
        runs: at most so many.
    """
    guilty = PLANTED_BUGS[name]
    for number in range(runs):
        result: RunResult = run_case(draw_case(seed, number, guilty.parts), guilty.parts)
        failed = {finding.check for finding in result.findings}
        if failed:
            found_by = tuple(check for check in CHECKS if check in failed)
            return SearchResult(name, number + 1, found_by, guilty.expected)
    return SearchResult(name, runs, (), guilty.expected)


def search_all(
    seed: int, runs: int = RUNS, jobs: int = 1, names: Iterable[str] = PLANTED_BUGS
) -> Iterator[SearchResult]:
    """Search for guilty engines, in the order of the roll.

    Args:
        seed: of the runs of each engine.
        runs: at most so many for each.
        jobs: number of processes; 1: this one.
        names: of the engines; all of them by default.
    """
    wanted = list(names)
    if jobs == 1:
        yield from (search(name, seed, runs) for name in wanted)
        return
    with _single_threaded(), ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        try:
            yield from pool.map(search, wanted, [seed] * len(wanted), [runs] * len(wanted))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
