"""Experiment 2: operations of the sliding graph, counted on walks and by formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from statistics import mean
from typing import Final

from benchmarks.slides_speed import Size, slides_of
from windowing.research.slides.graph import SlidingGraph, SlidingTree
from windowing.research.slides.optimiser import Limits, optimise

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
