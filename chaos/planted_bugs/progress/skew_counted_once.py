"""Heartbeats that subtract clock skew once instead of twice.

Defect: a slack of L - l + s instead of L - l + 2 s: the skew of the observed record is omitted.
How one gets it: the formula for a receiver with a clock, used without one.
Expected: a lane's progress is higher than its records allow.
Where later bounds of the batch hide this, the rows differ.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_generator
from chaos.planted_bugs.planted import planted
from windowing.engine.progress import Generator, generator_of
from windowing.engine.progress.heartbeat import Heartbeat
from windowing.model import progress


class OnceHeartbeat(Heartbeat):
    """Subtracts the skew once."""

    def __init__(self, data: progress.Heartbeat, lane: str) -> None:
        super().__init__(data, lane)
        self._own_us -= dict(data.sources)[lane].skew_us


def once(disorder: progress.Disorder, lane: str) -> Generator:
    """Return a lane's generator, with the defect if it uses heartbeats."""
    if isinstance(disorder, progress.Heartbeat):
        return OnceHeartbeat(disorder, lane)
    return generator_of(disorder, lane)


BUG = planted_bug(
    planted("skew_counted_once", names={"windowing.engine.progress.clock:generator_of": once}),
    "progress",
    "conservation",
    "dead letters",
    "deterministic",
    shows_in=by_generator(progress.Heartbeat),
)
