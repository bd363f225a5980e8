"""Convictions: a recorded case for each planted bug, which finds it again in one run.

A search draws hundreds of cases; a conviction is what it found, shrunk. It is data, and does not
depend on how cases are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from chaos.planted_bugs.planted import PLANTED_BUGS, PlantedBug
from chaos.planted_bugs.search import RUNS, each
from chaos.simulator.case import Case, read_case, write_case
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import draw_case, run_case
from chaos.simulator.shrink import shrink
from chaos.simulator.verdict.checks import SimulatorCheck

_SMALL_RUNS = 100
"""Number of cases that are drawn small before others are: they are found and shrunk faster."""

_TRIES = 300


@dataclass(frozen=True)
class Recording:
    """The result of recording a conviction.

    Attributes:
        name: the bug's name.
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
        """Whether there is a case."""
        return self.case is not None

    @property
    def line(self) -> str:
        """The result as a line of a table."""
        if self.case is None:
            return f"{self.name:34} not convicted in {self.runs} runs"
        how = f"after {self.runs:4}" if self.runs else "as recorded"
        size = f"{self.case.records} records, {len(self.case.plan)} steps"
        return f"{self.name:34} {how} by {', '.join(self.found_by)}: {size}"


def conviction(folder: Path, name: str) -> Path:
    """Return the file of a bug's conviction."""
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
    """Record a case that convicts a bug, unless the one that is there still does.

    Args:
        name: the bug's name.
        seed: seed of the runs.
        runs: maximum number of runs.
        folder: the folder of all convictions.
    """
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
    """Record a conviction of each bug; see `record`."""
    yield from each(partial(record, seed=seed, runs=runs, folder=folder), names, jobs)
