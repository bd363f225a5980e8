"""Which slides are due between two instants: five ways, with one answer.

A slide is due at its multiples, on a counter of records or on a clock. The sliding graph is the
paper's; the others are ours. The calendar has no state, so it is the default; a timing wheel is as
fast where records come one by one.

Source: Salehi et al., "Knowing when to slide", section 4 (the graph and its walk).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

import numpy as np

from windowing.engine.slides.graph import SlidingGraph, SlidingTree
from windowing.engine.wids import Ints

Due = tuple[Ints, Ints]
"""Instants and the slides that are due there, sorted by instant, then slide."""


class Schedule(Protocol):
    """A set of distinct slides that knows when they are due."""

    def add(self, slide: int) -> None:
        """Add a slide that is not in the set."""

    def remove(self, slide: int) -> None:
        """Remove a slide of the set."""

    def between(self, after: int, until: int) -> Due:
        """Return what is due after one instant, until another, that one included."""


class Plain:
    """Every slide is tested at every instant."""

    def __init__(self) -> None:
        self._slides: set[int] = set()

    def add(self, slide: int) -> None:
        """Add a slide."""
        self._slides.add(slide)

    def remove(self, slide: int) -> None:
        """Remove a slide."""
        self._slides.remove(slide)

    def between(self, after: int, until: int) -> Due:
        """Return what is due."""
        ascending = sorted(self._slides)
        return _due(
            (instant, slide)
            for instant in range(after + 1, until + 1)
            for slide in ascending
            if instant % slide == 0
        )


class Graph:
    """The sliding graph: a slide is tested only where one that divides it is due.

    Args:
        optimise: from a tree to one with the same slides that is cheaper to walk.
    """

    def __init__(self, optimise: Callable[[SlidingTree], SlidingTree] = lambda tree: tree) -> None:
        self._graph, self._optimise = SlidingGraph(), optimise
        self._tree: SlidingTree | None = None

    def add(self, slide: int) -> None:
        """Add a slide."""
        self._graph.add(slide)
        self._tree = None

    def remove(self, slide: int) -> None:
        """Remove a slide."""
        self._graph.remove(slide)
        self._tree = None

    def between(self, after: int, until: int) -> Due:
        """Return what is due; only multiples of the root are looked at."""
        if self._tree is None:
            self._tree = self._optimise(self._graph.tree)
        tree = self._tree
        if tree.root is None:
            return _due(())
        known = set(self._graph.nodes)
        instants = range(after - after % tree.root + tree.root, until + 1, tree.root)
        return _due(
            (instant, slide)
            for instant in instants
            for slide in sorted(known.intersection(tree.due(instant)))
        )


class _Next:
    """Slides with the next instant of each; what waits for another one is stale."""

    def __init__(self) -> None:
        self._next: dict[int, int] = {}
        self._at: int | None = None

    def add(self, slide: int) -> None:
        """Add a slide."""
        if self._at is None:
            self._next[slide] = 0
        else:
            self._seat(slide, self._at)

    def remove(self, slide: int) -> None:
        """Remove a slide."""
        del self._next[slide]

    def _begin(self, after: int) -> None:
        """Start to answer from an instant on, unless it is where the last answer ended."""
        if self._at != after:
            self._clear()
            for slide in self._next:
                self._seat(slide, after)
        self._at = after

    def _seat(self, slide: int, after: int) -> None:
        self._next[slide] = after - after % slide + slide
        self._wait(self._next[slide], slide)

    def _fires(self, instant: int, slide: int) -> bool:
        """Whether a slide is due, and if so let it wait for its next instant."""
        if self._next.get(slide) != instant:
            return False
        self._seat(slide, instant)
        return True

    def _clear(self) -> None:
        raise NotImplementedError

    def _wait(self, instant: int, slide: int) -> None:
        raise NotImplementedError


class Heap(_Next):
    """A heap of the next instants."""

    def __init__(self) -> None:
        super().__init__()
        self._heap: list[tuple[int, int]] = []

    def between(self, after: int, until: int) -> Due:
        """Return what is due."""
        self._begin(after)
        found = []
        while self._heap and self._heap[0][0] <= until:
            one = heapq.heappop(self._heap)
            if self._fires(*one):
                found.append(one)
        self._at = until
        return _due(found)

    def _clear(self) -> None:
        self._heap.clear()

    def _wait(self, instant: int, slide: int) -> None:
        heapq.heappush(self._heap, (instant, slide))


class Wheel(_Next):
    """A timing wheel: the slides that wait for each instant. It touches only what is due."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[int, list[int]] = {}

    def between(self, after: int, until: int) -> Due:
        """Return what is due; visits every instant, and so is meant for counters of records."""
        self._begin(after)
        found = []
        for instant in range(after + 1, until + 1):
            waiting = self._waiting.pop(instant, ())
            found += [(instant, slide) for slide in sorted(waiting) if self._fires(instant, slide)]
        self._at = until
        return _due(found)

    def _clear(self) -> None:
        self._waiting.clear()

    def _wait(self, instant: int, slide: int) -> None:
        self._waiting.setdefault(instant, []).append(slide)


class Calendar:
    """All due instants of a batch at once, by arithmetic; nothing is kept between batches."""

    def __init__(self) -> None:
        self._slides: Ints = np.array([], dtype=np.int64)

    def add(self, slide: int) -> None:
        """Add a slide."""
        self._slides = np.append(self._slides, slide)

    def remove(self, slide: int) -> None:
        """Remove a slide."""
        self._slides = self._slides[self._slides != slide]

    def between(self, after: int, until: int) -> Due:
        """Return what is due."""
        counts = until // self._slides - after // self._slides
        slides = np.repeat(self._slides, counts)
        # Within its slide, each instant has a number from 1.
        ends = np.cumsum(counts)
        numbers = np.arange(1, len(slides) + 1) - np.repeat(ends - counts, counts)
        instants = (after // slides + numbers) * slides
        order = np.lexsort((slides, instants))
        return instants[order], slides[order]


SCHEDULES: Final[dict[str, Callable[[], Schedule]]] = {
    "plain": Plain,
    "graph": Graph,
    "heap": Heap,
    "wheel": Wheel,
    "calendar": Calendar,
}
"""Every way, by its name."""


def _due(found: Iterable[tuple[int, int]]) -> Due:
    def column(pairs: list[tuple[int, int]], place: int) -> Ints:
        return np.fromiter((pair[place] for pair in pairs), dtype=np.int64, count=len(pairs))

    pairs = list(found)
    return column(pairs, 0), column(pairs, 1)


def in_pairs(due: Due) -> Iterator[tuple[int, int]]:
    """Return instants and slides as pairs of integers."""
    instants, slides = due
    return zip(instants.tolist(), slides.tolist(), strict=True)
