"""Experiment 3: how far runs by a source's time stamps are from their slides, by tuples or timers.

A tuple each two minutes reaches the system 30 to 90 seconds later; intervals between runs are taken
by the wall clock.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean
from typing import Final

from windowing.research.slides.active import SlidingQuery
from windowing.research.slides.remote import TimerDriven, TupleDriven

SECOND_MS: Final = 1_000
GAP_MS: Final = 120 * SECOND_MS
DELAY_MS: Final = (30 * SECOND_MS, 90 * SECOND_MS)
SLIDES_MS: Final = (180 * SECOND_MS, 300 * SECOND_MS)
INTERVALS: Final = 6
ALPHAS: Final = (0.0, 0.5, 0.9)

Arrivals = Sequence[tuple[int, int]]
"""Time stamp and wall clock of each tuple."""


@dataclass(frozen=True)
class Accuracy:
    """Intervals between the runs of a query.

    Attributes:
        error_s: the mean distance from the slide.
    """

    mean_s: float
    error_s: float


def accuracy(
    alpha: float | None, slide_ms: int, tuples: int, draws: int, first: int | None
) -> Accuracy:
    """Measure the intervals of a query.

    Args:
        alpha: the weight of the past in a timer's mean delay (B); None: tuples begin runs (A).
        tuples: how many come in a draw.
        first: how many intervals of each draw count; None: all.
    """
    query = SlidingQuery("q", slide_ms)
    intervals: list[int] = []
    for seed in range(draws):
        runs = _by_tuples(query, arrivals(tuples, seed))
        if alpha is not None:
            runs = _by_timer(query, arrivals(tuples, seed), alpha)
        intervals += [later - earlier for earlier, later in pairwise(runs)][:first]
    return Accuracy(
        mean_s=mean(intervals) / SECOND_MS,
        error_s=mean(abs(one - slide_ms) for one in intervals) / SECOND_MS,
    )


def arrivals(tuples: int, seed: int) -> Arrivals:
    """Return when tuples come, drawn from a seed."""
    draw = random.Random(seed)
    return [(n * GAP_MS, n * GAP_MS + draw.randint(*DELAY_MS)) for n in range(tuples)]


def _by_tuples(query: SlidingQuery, tuples: Arrivals) -> Iterator[int]:
    manager = TupleDriven()
    manager.join(query)
    for ts, wall in tuples:
        if manager.take(ts):
            yield wall


def _by_timer(query: SlidingQuery, tuples: Arrivals, alpha: float) -> Iterator[int]:
    """Yield when a query runs (B), up to the last tuple."""
    manager = TimerDriven(alpha)
    manager.join(query)
    for ts, wall in tuples:
        for run, _ in [*manager.until(wall, inclusive=False), *manager.take(wall, ts)]:
            yield run.at
