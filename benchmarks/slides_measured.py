"""What the experiments on sliding managers measure: speed, operations, and delays."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from statistics import mean
from typing import Final

import numpy as np

from windowing.research.slides.active import ActiveQueries, SlidingQuery
from windowing.research.slides.graph import SlidingGraph, SlidingTree
from windowing.research.slides.optimiser import Limits, optimise
from windowing.research.slides.remote import TimerDriven, TupleDriven
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


PER_PUSH: Final = 11
"""Comparisons that a push and pop cost, by the paper's measure of 10 to 12."""

_STRICTER: Final = Limits(node=Fraction(1, 1000), graph=Fraction(1, 100))
TREES: Final[Mapping[str, Callable[[SlidingTree], SlidingTree]]] = {
    "graph": lambda tree: tree,
    "(0, 0)": lambda tree: optimise(tree, Limits()).tree,
    "(0.001, 0.01)": lambda tree: optimise(tree, _STRICTER).tree,
}
"""The plain graph, and optimised ones by their limits (theta_l, theta_g)."""


@dataclass(frozen=True)
class SlideCounts:
    """Operations per tuple, on average.

    Attributes:
        pushes: slides found due, dummies included.
        dummies: slides that no query has, the root included.
        off: how far tests or pushes are from their long-run values, as a share of them.
    """

    tests: float
    pushes: float
    dummies: float
    off: float

    @property
    def cost(self) -> float:
        """Everything, in comparisons."""
        return self.tests + PER_PUSH * self.pushes


def counted(tree: SlidingTree, real: frozenset[int], tuples: int) -> SlideCounts:
    """Count the operations of a tree over the first tuples of a stream.

    Raises:
        RuntimeError: they are not those that follow from the tree.
    """
    tests, pushes = _walked(tree, tuples)
    if (tests, pushes) != (expected := _expected(tree, tuples)):
        msg = f"a walk makes {tests} tests and {pushes} pushes, and not {expected}"
        raise RuntimeError(msg)
    per_tuple = (tests / tuples, pushes / tuples)
    off = max(
        abs(one / float(long_run) - 1)
        for one, long_run in zip(per_tuple, (tree.tests, tree.pushes), strict=True)
    )
    return SlideCounts(*per_tuple, dummies=len(tree.nodes - real), off=off)


def count(size: Size, seeds: int, tuples: int) -> tuple[float, dict[str, SlideCounts]]:
    """Return the number of distinct slides and the operations of each tree, means over draws."""
    distinct, found = [], dict[str, list[SlideCounts]]()
    for seed in range(seeds):
        graph = SlidingGraph(slides_of(size, seed))
        real = frozenset(graph.nodes)
        distinct.append(len(real))
        for name, change in TREES.items():
            found.setdefault(name, []).append(counted(change(graph.tree), real, tuples))
    return mean(distinct), {name: _mean(each) for name, each in found.items()}


def _mean(each: list[SlideCounts]) -> SlideCounts:
    return SlideCounts(
        tests=mean(one.tests for one in each),
        pushes=mean(one.pushes for one in each),
        dummies=mean(one.dummies for one in each),
        off=max(one.off for one in each),
    )


def _walked(tree: SlidingTree, tuples: int) -> tuple[int, int]:
    below = {slide: len(children) for slide, children in tree.children.items()}
    tests, pushes = tuples, 0
    for instant in range(1, tuples + 1):
        found = tree.due(instant)
        pushes += len(found)
        tests += sum(below.get(slide, 0) for slide in found)
    return tests, pushes


def _expected(tree: SlidingTree, tuples: int) -> tuple[int, int]:
    """Return tests and pushes: a slide is pushed at its multiples, and tested at its parent's."""
    tests = tuples + sum(tuples // parent for parent in tree.parents.values())
    return tests, sum(tuples // slide for slide in tree.nodes)


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
