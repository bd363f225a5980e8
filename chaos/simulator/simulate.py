"""Draw and run many cases in parallel, count the results, and shrink and keep every failure."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

from chaos.processes import deaf_children
from chaos.simulator.case import Case, read_case, write_case
from chaos.simulator.coverage import shares, summary, too_rare
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.tasks import OWN
from chaos.simulator.run import RunResult, draw_case, run_case
from chaos.simulator.shrink import shrink
from chaos.simulator.verdict.checks import CHECKS, Finding, SimulatorCheck
from windowing.engine.effects import Mechanism

KEEP = Path(".slackwater") / "simulated"
"""Folder for failures, relative to the working directory."""

_CHUNK = 10
SHRUNK = 5
"""Number of failures to shrink, which takes seconds each; the first ones say most."""
_SHOWN_MAX = 5

OnFinished = Callable[[int], None]


@dataclass(frozen=True)
class FailedRun:
    """A run that failed, shrunk as far as possible.

    Attributes:
        drawn: number of records and steps before shrinking; None: the case was not shrunk.
    """

    case: Case
    findings: tuple[Finding, ...]
    file: Path
    drawn: tuple[int, int] | None = None

    def lines(self) -> list[str]:
        """Return the differences, and the command that reproduces them."""
        size = f"{self.case.records} records, {len(self.case.plan)} steps"
        if self.drawn is not None:
            size += f", shrunk from {self.drawn[0]} records, {self.drawn[1]} steps"
        return [
            f"run {self.case.seed} of {self.case.engine} failed ({size})",
            *_finding_lines(self.findings),
            f"reproduce: {self.command}",
        ]

    def short(self) -> str:
        """Return a summary in one line."""
        broken = ", ".join(finding.check for finding in self.findings)
        return f"run {self.case.seed} of {self.case.engine} failed: {broken}; {self.command}"

    @property
    def command(self) -> str:
        """The command that runs the case again."""
        return f"slackwater chaos simulate --replay {self.file}"


@dataclass
class SimulationReport:
    """The results of many runs.

    Attributes:
        passed: number of runs that passed every check.
        failures: the others.
        faults: how often each kind of fault took effect.
        planned: how often each kind of fault was planned.
        pairs: the pairs of features that met in some run, by number; None: not counted, since the
            pipeline was given.
        mechanisms: in how many runs each of them took effect.
    """

    passed: int = 0
    failures: list[FailedRun] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    planned: Counter[str] = field(default_factory=Counter)
    pairs: set[int] | None = None
    mechanisms: Counter[Mechanism] = field(default_factory=Counter)

    @property
    def ok(self) -> bool:
        """Whether no run failed."""
        return not self.failures

    @property
    def runs(self) -> int:
        """The number of runs."""
        return self.passed + len(self.failures)

    @property
    def without_effect(self) -> list[str]:
        """The kinds of faults that were planned but never took effect."""
        return sorted(kind for kind in self.planned if not self.faults[kind])

    @property
    def complete(self) -> bool:
        """Whether no mechanism is too rare, and every fault that was planned took effect."""
        return not self.without_effect and not too_rare(self.mechanisms, self.runs)

    @property
    def found_by(self) -> set[SimulatorCheck]:
        """The checks that failed in some run."""
        return {finding.check for failed in self.failures for finding in failed.findings}

    def lines(self) -> list[str]:
        """Return the report as text; the last line is `N passed, M failed`."""
        lines = [line for failed in self.failures[:_SHOWN_MAX] for line in failed.lines()]
        lines += [failed.short() for failed in self.failures[_SHOWN_MAX:]]
        if self.faults:
            counts = ", ".join(f"{kind} {times}" for kind, times in self.faults.most_common())
            lines.append(f"faults that took effect: {counts}")
        lines += [f"no effect in any run: {kind}" for kind in self.without_effect]
        if self.pairs is not None:
            lines += [*shares(self.mechanisms, self.runs), *summary(self.pairs)]
        return [*lines, f"{self.passed} passed, {len(self.failures)} failed"]


def simulate(
    runs: int,
    seed: int,
    *,
    parts: EngineParts | None = None,
    pipeline_text: str | None = None,
    jobs: int = 1,
    keep: Path = KEEP,
    stop_at: int | None = None,
    shrunk: int = SHRUNK,
    on_finished: OnFinished = lambda _: None,
) -> SimulationReport:
    """Run a number of random cases.

    Args:
        seed: seed of all cases; run n of a seed is the same whatever `runs` and `jobs` are.
        parts: the engine under test; default: the real one.
        jobs: number of processes; 1: this one.
        stop_at: number of failures after which to stop; None: never.
        shrunk: number of failures to shrink; later ones are kept as drawn.
    """
    parts = parts or EngineParts()
    drawn = pipeline_text is None and parts.name == OWN
    report = SimulationReport(pairs=set() if drawn else None)
    for results in _results(runs, seed, parts, pipeline_text, jobs):
        for result in results:
            _enter(report, result, parts, keep, shrunk)
        on_finished(len(results))
        if stop_at is not None and len(report.failures) >= stop_at:
            break
    report.failures.sort(key=lambda failed: (failed.drawn is None, _number(failed.case)))
    return report


def replay(file: Path, parts: EngineParts) -> SimulationReport:
    """Rerun the case of a failure.

    The file was written by `simulate`; `parts` is the engine that the case names.

    Raises:
        CaseError: the file is not a case.
    """
    case = read_case(file)
    result = run_case(case, parts)
    report = SimulationReport(faults=result.faults)
    if result.findings:
        report.failures.append(FailedRun(case, result.findings, file))
    else:
        report.passed = 1
    return report


def run_many(
    seed: int, numbers: range, parts: EngineParts, pipeline_text: str | None
) -> list[RunResult]:
    """Draw and run some cases of a seed."""
    return [run_case(draw_case(seed, number, parts, pipeline_text), parts) for number in numbers]


def _results(
    runs: int, seed: int, parts: EngineParts, pipeline_text: str | None, jobs: int
) -> Iterator[list[RunResult]]:
    ranges = [range(start, min(start + _CHUNK, runs)) for start in range(0, runs, _CHUNK)]
    if jobs == 1:
        for numbers in ranges:
            yield run_many(seed, numbers, parts, pipeline_text)
        return
    with process_pool(jobs) as pool:
        with deaf_children():
            futures = [pool.submit(run_many, seed, part, parts, pipeline_text) for part in ranges]
        for future in as_completed(futures):
            yield future.result()


@contextmanager
def process_pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Provide processes with single-threaded polars: small frames gain nothing from threads."""
    single = patch.dict(os.environ, {"POLARS_MAX_THREADS": "1"})
    with single, ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _enter(
    report: SimulationReport, result: RunResult, parts: EngineParts, keep: Path, shrunk: int
) -> None:
    report.faults += result.faults
    report.planned += _planned(result.case)
    report.mechanisms.update(result.mechanisms)
    if report.pairs is not None:
        report.pairs |= result.pairs
    if not result.findings:
        report.passed += 1
        return
    drawn = None
    if len(report.failures) < shrunk:
        drawn = (result.case.records, len(result.case.plan))
        result = _shrunk(result, parts)
    name = f"{parts.name}-{result.case.seed.replace(':', '-')}.json"
    write_case(result.case, keep / name)
    report.failures.append(FailedRun(result.case, result.findings, keep / name, drawn))


def _shrunk(result: RunResult, parts: EngineParts) -> RunResult:
    """Shrink to the smallest case in which the first of the failed checks failed.

    Its result is kept, not recomputed: a bug may depend on more than the case, as the order of
    float additions depends on threads.
    """
    check, smallest = result.findings[0].check, result

    def fails(case: Case) -> bool:
        nonlocal smallest
        smaller = run_case(case, parts)
        if check not in {finding.check for finding in smaller.findings}:
            return False
        smallest = smaller
        return True

    shrink(result.case, fails)
    return smallest


def _planned(case: Case) -> Counter[str]:
    """Count the planned faults that must take effect under all circumstances."""
    planned: Counter[str] = Counter()
    for step in case.plan:
        planned += Counter(failure.kind for failure in step.failures[:1])
        planned["restart with other workers"] += step.workers > 0
        planned["commit entry lost"] += step.lose_commit
        planned["state file damaged"] += step.damage is not None
        planned["chunk delivered twice"] += step.twice > 0
    return +planned


def _number(case: Case) -> tuple[int, ...]:
    return tuple(int(part) for part in case.seed.split(":"))


def _finding_lines(findings: tuple[Finding, ...]) -> Iterator[str]:
    for finding in findings:
        yield f"  {finding.check}: broken ({CHECKS[finding.check]})"
        yield from (f"    {line}" for line in finding.lines)
