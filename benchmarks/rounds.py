"""Rounds of runs: which are done, and which there is time for."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field

from benchmarks.cases import Case
from benchmarks.runs import Measured

Runs = dict[str, dict[str, list[Measured]]]
"""Per case and path, one run for each round."""


def whole(measured: Runs) -> Runs:
    """Return the rounds that every path of a case has run."""
    found = {}
    for case, by_path in measured.items():
        fewest = min(map(len, by_path.values()))
        found[case] = {path: runs[:fewest] for path, runs in by_path.items()}
    return found


@dataclass
class Progress:
    """What was measured so far, and whether there is time for more.

    Attributes:
        deadline: by `time.monotonic`; None: there is none.
        measured: what was measured.
        took_s: per case and path, how long the runs took as a whole.
    """

    deadline: float | None
    measured: Runs = field(default_factory=dict)
    took_s: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def has(self, number: int, case: Case, path: str) -> bool:
        """Whether a path has run in a round, counted from 0."""
        return len(self.measured.get(case.name, {}).get(path, ())) > number

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
