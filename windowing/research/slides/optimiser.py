"""Dummy slides between a slide and those below it, so that a walk tests fewer of them.

The paper does not say how optimisations of a slide are enumerated. Ours: candidates are the
greatest common divisors of the slides below it, closed under gcd; a chain adds the one that saves
most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import gcd

from windowing.research.slides.graph import SlidingTree


@dataclass(frozen=True)
class Limits:
    """When an optimisation is applied.

    Attributes:
        node: the smallest gain per cost of a single optimisation (theta_l).
        graph: the gain per cost of all that are applied must exceed it (theta_g).
        base, per_dummy: the cost of sigma dummies, `base + per_dummy * sigma`.
        passes: number of passes; None: until a pass applies nothing.
        dummies_max: the most dummies under one slide in a pass; None: any number.
    """

    node: Fraction = Fraction(0)
    graph: Fraction = Fraction(0)
    base: Fraction = Fraction(0)
    per_dummy: Fraction = Fraction(1)
    passes: int | None = 1
    dummies_max: int | None = None

    def cost(self, dummies: int) -> Fraction:
        """Return the cost of dummies."""
        return self.base + self.per_dummy * dummies


@dataclass(frozen=True)
class Variant:
    """One optimisation of a slide.

    Attributes:
        slide: it stands above the dummies.
        dummies: in the order in which they were chosen.
        before, after: tests per visit of the slide.
    """

    slide: int
    dummies: tuple[int, ...]
    before: int
    after: Fraction

    @property
    def gain(self) -> Fraction:
        """The share of tests saved, per tuple (O)."""
        return (self.before - self.after) / self.before / self.slide

    def theta(self, limits: Limits) -> Fraction:
        """Return the gain per cost."""
        return self.gain / limits.cost(len(self.dummies))


@dataclass(frozen=True)
class Decision:
    """What became of one optimisation.

    Attributes:
        pass_number: from 1.
        ratio: gain per cost of all applied ones and this one.
    """

    pass_number: int
    variant: Variant
    ratio: Fraction
    accepted: bool


@dataclass(frozen=True)
class OptimisedTree:
    """A tree with dummies.

    Attributes:
        dummies: those that were added, ascending.
        gain: the sum of the gains.
    """

    tree: SlidingTree
    dummies: tuple[int, ...]
    gain: Fraction
    log: tuple[Decision, ...]


def optimise(tree: SlidingTree, limits: Limits) -> OptimisedTree:
    """Add dummies to a tree, pass by pass."""
    gain, dummies, log = Fraction(0), list[int](), list[Decision]()
    number = 0
    while limits.passes is None or number < limits.passes:
        number += 1
        accepted = []
        for decision in _pass(tree, limits, number, gain, len(dummies)):
            log.append(decision)
            if decision.accepted:
                accepted.append(decision.variant)
                gain += decision.variant.gain
                dummies += decision.variant.dummies
        for variant in accepted:
            tree = _applied(tree, variant)
        if not accepted:
            break
    return OptimisedTree(tree, tuple(sorted(dummies)), gain, tuple(log))


def variants(tree: SlidingTree, slide: int, dummies_max: int | None) -> list[Variant]:
    """Return the optimisations of a slide: each adds one dummy to the one before it."""
    below = tree.children.get(slide, [])
    candidates = _closed_under_gcd(below) - {slide}
    chosen: tuple[int, ...] = ()
    after = Fraction(len(below))
    found: list[Variant] = []
    while candidates and (dummies_max is None or len(chosen) < dummies_max):
        costs = {one: _tests(slide, below, (*chosen, one)) for one in candidates}
        best = min(candidates, key=lambda one: (costs[one], -one))
        if costs[best] >= after:
            break
        chosen, after = (*chosen, best), costs[best]
        candidates.remove(best)
        found.append(Variant(slide, chosen, len(below), after))
    return found


def _pass(
    tree: SlidingTree, limits: Limits, number: int, gain: Fraction, added: int
) -> list[Decision]:
    offered = {slide: variants(tree, slide, limits.dummies_max) for slide in tree.children}
    waiting = [first for chain in offered.values() if (first := _best(chain, limits)) is not None]
    decisions = []
    while waiting:
        waiting.sort(key=lambda one: (-one.theta(limits), one.slide))
        variant = waiting.pop(0)
        sigma = len(variant.dummies)
        ratio = (gain + variant.gain) / limits.cost(added + sigma)
        accepted = ratio > limits.graph
        decisions.append(Decision(number, variant, ratio, accepted))
        if accepted:
            gain, added = gain + variant.gain, added + sigma
            continue
        smaller = [one for one in offered[variant.slide] if len(one.dummies) < sigma]
        if (instead := _best(smaller, limits)) is not None:
            waiting.append(instead)
    return decisions


def _best(chain: Sequence[Variant], limits: Limits) -> Variant | None:
    """Return the variant with the largest gain per cost; of equal ones, that with fewer dummies."""
    best = max(chain, key=lambda one: (one.theta(limits), -len(one.dummies)), default=None)
    return None if best is None or best.theta(limits) < limits.node else best


def _closed_under_gcd(slides: Sequence[int]) -> set[int]:
    closed = {gcd(one, other) for one, other in combinations(slides, 2)}
    fresh = closed
    while fresh:
        fresh = {gcd(one, other) for one in fresh for other in closed} - closed
        closed |= fresh
    return closed


def _tests(slide: int, below: Sequence[int], dummies: Sequence[int]) -> Fraction:
    parents = _placed(slide, (*below, *dummies), dummies).values()
    return sum((Fraction(slide, parent) for parent in parents), Fraction(0))


def _placed(slide: int, nodes: Sequence[int], dummies: Sequence[int]) -> dict[int, int]:
    """Return the parents of nodes: their largest proper divisor among dummies, or the slide."""
    return {
        node: max((one for one in dummies if one != node and node % one == 0), default=slide)
        for node in nodes
    }


def _applied(tree: SlidingTree, variant: Variant) -> SlidingTree:
    below = tree.children[variant.slide]
    placed = _placed(variant.slide, (*below, *variant.dummies), variant.dummies)
    return SlidingTree(tree.root, tree.dummy_root, {**tree.parents, **placed})
