"""Experiment 1: how fast each way finds what slides now, as a multiple of testing every slide."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from windowing.research.slides.active import ActiveQueries, SlidingQuery
from windowing.research.slides.optimiser import Limits, optimise
from windowing.research.slides.schedules import SCHEDULES, Graph, Schedule

PLAIN: Final = "plain"
OPTIMISED: Final = "optimised graph"
WAYS: Final[Mapping[str, Callable[[], Schedule]]] = {
    PLAIN: SCHEDULES[PLAIN],
    "graph": SCHEDULES["graph"],
    OPTIMISED: lambda: Graph(lambda tree: optimise(tree, Limits()).tree),
    "heap": SCHEDULES["heap"],
    "wheel": SCHEDULES["wheel"],
    "calendar": SCHEDULES["calendar"],
}
"""All ways; the optimised graph is one pass with both limits 0."""

BATCH: Final = 1_000
"""Tuples that are answered for at once, except where batches are what is compared."""

_COMPARED: Final = 2 * BATCH


@dataclass(frozen=True)
class Size:
    """How many queries there are, and of which slides.

    Attributes:
        largest: slides are uniform in 2..largest.
    """

    queries: int
    largest: int


SPEED_IN_THE_PAPER: Final[Mapping[Size, str]] = {
    Size(10, 200): "< 1",
    **{Size(queries, most): "3 – 3.7" for queries in (5_000, 10_000) for most in (800, 2_000)},
}
"""Speed of the paper's graph as a multiple of testing every slide, where the paper says it."""


@dataclass
class Cell:
    """One size, measured: seconds of CPU time of each round, by way.

    Attributes:
        tuples: of a round.
        checks: for finding the slides that are due.
        ids: for the queries that have them as well, in order.
    """

    size: Size
    tuples: int
    checks: dict[str, list[float]] = field(default_factory=dict)
    ids: dict[str, list[float]] = field(default_factory=dict)


def slides_of(size: Size, seed: int) -> list[int]:
    """Return the slides of queries, drawn from a seed."""
    draw = random.Random(f"{size} {seed}")
    return [draw.randint(2, size.largest) for _ in range(size.queries)]


def queries_of(slides: Sequence[int], schedule: Schedule) -> ActiveQueries:
    """Return queries with these slides, by one way."""
    queries = ActiveQueries(schedule)
    for number, slide in enumerate(slides):
        queries.join(SlidingQuery(f"q{number}", slide))
    return queries


def measure(size: Size, rounds: int, tuples: int) -> Cell:
    """Measure all ways in rounds that run one after the other, over tuples in batches.

    Raises:
        RuntimeError: two ways give other runs.
    """
    slides, cell = slides_of(size, seed=0), Cell(size, tuples)
    schedules = {name: way() for name, way in WAYS.items()}
    queries = {name: queries_of(slides, schedules[name]) for name in WAYS}
    compare(queries, size)
    at = _COMPARED
    for _ in range(rounds):
        for name, schedule in schedules.items():
            cell.checks.setdefault(name, []).append(seconds(schedule.between, at, tuples, BATCH))
        for name, active in queries.items():
            # A schedule is asked by itself and by its queries in turn, so each time it starts anew.
            active.runs(at - 1, at)
            cell.ids.setdefault(name, []).append(seconds(active.runs, at, tuples, BATCH))
        at += tuples
    return cell


def by_batch(size: Size, batches: Sequence[int], tuples: int) -> dict[str, list[float]]:
    """Return the seconds per tuple of each way that finds due slides, by the size of batches."""
    found: dict[str, list[float]] = {}
    for name, way in WAYS.items():
        schedule = way()
        for slide in sorted(set(slides_of(size, seed=0))):
            schedule.add(slide)
        schedule.between(0, BATCH)
        for batch in batches:
            took = [seconds(schedule.between, n * tuples, tuples, batch) for n in range(3)]
            found.setdefault(name, []).append(statistics.median(took) / tuples)
    return found


def compare(queries: Mapping[str, ActiveQueries], size: Size) -> None:
    """Compare the runs of all ways with those of testing every slide.

    Raises:
        RuntimeError: they differ; names the way.
    """
    expected = queries[PLAIN].runs(0, _COMPARED)
    for name, active in queries.items():
        runs = [active.runs(after, after + BATCH) for after in range(0, _COMPARED, BATCH)]
        instants = np.concatenate([one.instants for one in runs])
        numbers = np.concatenate([one.numbers for one in runs])
        same = np.array_equal(instants, expected.instants)
        if not same or not np.array_equal(numbers, expected.numbers):
            msg = f"{size}: {name} does not give the runs of {PLAIN}"
            raise RuntimeError(msg)


def seconds(answer: Callable[[int, int], object], at: int, tuples: int, batch: int) -> float:
    """Return the CPU time of answers for tuples after a position, in batches."""
    began_s = time.process_time()
    for after in range(at, at + tuples, batch):
        answer(after, after + batch)
    return time.process_time() - began_s


def ratios(took: Mapping[str, Sequence[float]], way: str) -> list[float]:
    """Return how many times as fast as testing every slide a way is, in each round."""
    return [plain / one for plain, one in zip(took[PLAIN], took[way], strict=True)]
