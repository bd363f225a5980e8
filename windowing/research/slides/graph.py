"""The sliding graph: slides under the largest slide that divides them, and what a walk costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd


@dataclass(frozen=True)
class SlidingTree:
    """The strong edges of a sliding graph.

    Attributes:
        root: the slide that is tested for every tuple; None: there are no slides.
        dummy_root: the root, if it is the greatest common divisor of several slides and not the
            slide of a query itself; None: a query has it.
        parents: of every slide except the root: its largest proper divisor among the others.
    """

    root: int | None
    dummy_root: int | None
    parents: Mapping[int, int]

    @cached_property
    def children(self) -> Mapping[int, list[int]]:
        """The slides below each slide, ascending."""
        below: dict[int, list[int]] = {}
        for slide in sorted(self.parents):
            below.setdefault(self.parents[slide], []).append(slide)
        return below

    @property
    def nodes(self) -> frozenset[int]:
        """All slides, dummies included."""
        return frozenset(() if self.root is None else (self.root, *self.parents))

    @property
    def tests(self) -> Fraction:
        """How many slides a walk tests per tuple, in the long run."""
        if self.root is None:
            return Fraction(0)
        return 1 + sum((Fraction(1, parent) for parent in self.parents.values()), Fraction(0))

    @property
    def pushes(self) -> Fraction:
        """How many slides a walk finds due per tuple, dummies included."""
        return sum((Fraction(1, slide) for slide in self.nodes), Fraction(0))

    def due(self, instant: int) -> list[int]:
        """Return the slides that divide an instant, dummies included, by a walk from the root.

        A slide is a multiple of the one above it, so what is below one that is not due is not, too.
        """
        if self.root is None or instant % self.root:
            return []
        found, children = [self.root], self.children
        for slide in found:
            if slide in children:
                for below in children[slide]:
                    # A comprehension costs more to begin than most slides have below them.
                    if instant % below == 0:
                        found.append(below)
        return found


class SlidingGraph:
    """The slides of queries that join and leave."""

    def __init__(self, slides: Iterable[int] = ()) -> None:
        self._queries: Counter[int] = Counter()
        self._above: dict[int, int | None] = {}
        for slide in slides:
            self.add(slide)

    @property
    def nodes(self) -> list[int]:
        """The distinct slides, ascending."""
        return sorted(self._queries)

    def add(self, slide: int) -> None:
        """Let a query with a slide join.

        Raises:
            ValueError: the slide is not positive.
        """
        if slide < 1:
            msg = f"a slide of {slide} is not positive: use an integer from 1"
            raise ValueError(msg)
        self._queries[slide] += 1
        if slide in self._above:
            return
        self._above[slide] = self._largest_divisor(slide)
        for other, parent in self._above.items():
            if other != slide and other % slide == 0 and (parent is None or parent < slide):
                self._above[other] = slide

    def remove(self, slide: int) -> None:
        """Let a query with a slide leave.

        Raises:
            KeyError: no query has this slide.
        """
        if not self._queries[slide]:
            msg = f"no query has a slide of {slide}"
            raise KeyError(msg)
        self._queries[slide] -= 1
        if self._queries[slide]:
            return
        del self._queries[slide], self._above[slide]
        for other, parent in self._above.items():
            if parent == slide:
                self._above[other] = self._largest_divisor(other)

    @property
    def tree(self) -> SlidingTree:
        """The strong edges, below one root."""
        roots = self.roots
        if not roots:
            return SlidingTree(None, None, {})
        strong = {slide: parent for slide, parent in self._above.items() if parent is not None}
        if len(roots) == 1:
            return SlidingTree(roots[0], None, strong)
        root = gcd(*roots)
        return SlidingTree(root, root, strong | dict.fromkeys(roots, root))

    @property
    def roots(self) -> list[int]:
        """The slides that no other one divides, ascending."""
        return sorted(slide for slide, parent in self._above.items() if parent is None)

    @property
    def weak(self) -> list[tuple[int, int]]:
        """The cover edges that are not strong: divisor and multiple with no slide between them."""
        found = []
        for slide, parent in self._above.items():
            divisors = [one for one in self._above if one != slide and slide % one == 0]
            for one in divisors:
                between = any(other != one and other % one == 0 for other in divisors)
                if one != parent and not between:
                    found.append((one, slide))
        return sorted(found)

    def _largest_divisor(self, slide: int) -> int | None:
        divisors = [other for other in self._above if other != slide and slide % other == 0]
        return max(divisors, default=None)
