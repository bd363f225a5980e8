"""Which slides are due between two instants: five ways, with one answer.

A slide is due at its multiples, on a counter of records or on a clock. The sliding graph is the
paper's; the others are ours. The calendar has no state, so it is the default; a timing wheel is
faster where records come one by one (`benchmarks/slides.md`).

Source: Salehi et al., "Knowing when to slide", section 4 (the graph and its walk).
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from windowing.engine.wids import Ints
from windowing.research.slides.graph import SlidingGraph, SlidingTree


@dataclass(frozen=True)
class DueSlides:
    """What is due in a batch, by instant, then slide.

    Attributes:
        places: where each of `slides` is among all slides in ascending order, if the schedule
            knows that anyway; None: to be looked up.
    """

    instants: Ints
    slides: Ints
    places: Ints | None = None


class Schedule(Protocol):
    """A set of distinct slides that knows when they are due."""

    def add(self, slide: int) -> None:
        """Add a slide that is not in the set."""

    def remove(self, slide: int) -> None:
        """Remove a slide of the set."""

    def between(self, after: int, until: int) -> DueSlides:
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

    def between(self, after: int, until: int) -> DueSlides:
        """Return what is due."""
        ascending = sorted(self._slides)
        return _due(
            (instant, [slide for slide in ascending if instant % slide == 0])
            for instant in range(after + 1, until + 1)
        )


class Graph:
    """The sliding graph: a slide is tested only where one that divides it is due.

    Args:
        optimise: from a tree to one with the same slides that is cheaper to walk.
    """

    def __init__(self, optimise: Callable[[SlidingTree], SlidingTree] = lambda tree: tree) -> None:
        self._graph, self._optimise = SlidingGraph(), optimise
        self._tree: SlidingTree | None = None
        self._dummies: frozenset[int] = frozenset()

    def add(self, slide: int) -> None:
        """Add a slide."""
        self._graph.add(slide)
        self._tree = None

    def remove(self, slide: int) -> None:
        """Remove a slide."""
        self._graph.remove(slide)
        self._tree = None

    def between(self, after: int, until: int) -> DueSlides:
        """Return what is due; only multiples of the root are looked at."""
        tree = self._current()
        if tree.root is None:
            return _due(())
        instants = range(after - after % tree.root + tree.root, until + 1, tree.root)
        return _due((instant, self._slides(tree, instant)) for instant in instants)

    def _current(self) -> SlidingTree:
        if self._tree is None:
            self._tree = self._optimise(self._graph.tree)
            self._dummies = self._tree.nodes.difference(self._graph.nodes)
        return self._tree

    def _slides(self, tree: SlidingTree, instant: int) -> list[int]:
        found = tree.due(instant)
        if self._dummies:
            found = [slide for slide in found if slide not in self._dummies]
        found.sort()
        return found


class _Waiting(ABC):
    """Slides that wait for the first instant that each is due at after the last answer."""

    def __init__(self) -> None:
        self._slides: set[int] = set()
        self._at: int | None = None

    def add(self, slide: int) -> None:
        self._slides.add(slide)
        if self._at is not None:
            self._wait(_next(self._at, slide), slide)

    def remove(self, slide: int) -> None:
        self._slides.remove(slide)
        if self._at is not None:
            self._forget(_next(self._at, slide), slide)

    def between(self, after: int, until: int) -> DueSlides:
        if self._at != after:
            self._clear()
            for slide in self._slides:
                self._wait(_next(after, slide), slide)
        self._at = until
        return self._advance(after, until)

    @abstractmethod
    def _advance(self, after: int, until: int) -> DueSlides:
        """Return what is due, and let it wait for its next instants."""

    @abstractmethod
    def _clear(self) -> None:
        """Let nothing wait."""

    @abstractmethod
    def _wait(self, instant: int, slide: int) -> None:
        """Let a slide wait for an instant."""

    @abstractmethod
    def _forget(self, instant: int, slide: int) -> None:
        """Let a slide that waits for an instant wait no more."""


class Heap(_Waiting):
    """A heap of the next instants."""

    def __init__(self) -> None:
        super().__init__()
        self._heap: list[tuple[int, int]] = []

    def _advance(self, after: int, until: int) -> DueSlides:
        del after  # what is due by then has left the heap
        heap, instants, slides = self._heap, list[int](), list[int]()
        while heap and heap[0][0] <= until:
            instant, slide = heap[0]
            instants.append(instant)
            slides.append(slide)
            heapq.heapreplace(heap, (instant + slide, slide))
        return DueSlides(_column(instants), _column(slides))

    def _clear(self) -> None:
        self._heap.clear()

    def _wait(self, instant: int, slide: int) -> None:
        heapq.heappush(self._heap, (instant, slide))

    def _forget(self, instant: int, slide: int) -> None:
        self._heap.remove((instant, slide))
        heapq.heapify(self._heap)


class Wheel(_Waiting):
    """A timing wheel: the slides that wait for each instant. It touches only what is due.

    It visits every instant, and so is meant for counters of records.
    """

    def __init__(self) -> None:
        super().__init__()
        self._waiting: defaultdict[int, list[int]] = defaultdict(list)

    def _advance(self, after: int, until: int) -> DueSlides:
        waiting = self._waiting
        instants, counts, found = list[int](), list[int](), list[int]()
        for instant in range(after + 1, until + 1):
            if instant in waiting:
                slides = waiting.pop(instant)
                slides.sort()
                for slide in slides:
                    waiting[instant + slide].append(slide)
                instants.append(instant)
                counts.append(len(slides))
                found += slides
        return DueSlides(np.repeat(_column(instants), counts), _column(found))

    def _clear(self) -> None:
        self._waiting.clear()

    def _wait(self, instant: int, slide: int) -> None:
        self._waiting[instant].append(slide)

    def _forget(self, instant: int, slide: int) -> None:
        self._waiting[instant].remove(slide)


class Calendar:
    """All due instants of a batch at once, by arithmetic; nothing is kept between batches."""

    def __init__(self) -> None:
        self._slides: Ints = np.array([], dtype=np.int64)

    def add(self, slide: int) -> None:
        """Add a slide."""
        self._slides = np.insert(self._slides, np.searchsorted(self._slides, slide), slide)

    def remove(self, slide: int) -> None:
        """Remove a slide."""
        self._slides = self._slides[self._slides != slide]

    def between(self, after: int, until: int) -> DueSlides:
        """Return what is due."""
        # Counted from `after`, so that the numbers to sort are as small as the batch.
        first = self._slides - after % self._slides
        counts = (until - after - first) // self._slides + 1
        places = np.repeat(np.arange(len(counts)), counts)
        numbers = np.arange(len(places)) - (np.cumsum(counts) - counts)[places]
        instants = first[places] + numbers * self._slides[places]
        # Slides ascend, so a stable sort keeps them in order. Short integers are sorted by digits.
        short = instants.astype(np.min_scalar_type(until - after))
        order = np.argsort(short, kind="stable")
        places = places[order]
        return DueSlides(after + instants[order], self._slides[places], places)


SCHEDULES: Final[dict[str, Callable[[], Schedule]]] = {
    "plain": Plain,
    "graph": Graph,
    "heap": Heap,
    "wheel": Wheel,
    "calendar": Calendar,
}
"""Every way, by its name."""


def _next(after: int, slide: int) -> int:
    return after - after % slide + slide


def _due(found: Iterable[tuple[int, list[int]]]) -> DueSlides:
    """Return the slides that are due at ascending instants, as columns."""
    instants, counts, slides = list[int](), list[int](), list[int]()
    for instant, due in found:
        instants.append(instant)
        counts.append(len(due))
        slides += due
    return DueSlides(np.repeat(_column(instants), counts), _column(slides))


def _column(values: Sequence[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64, count=len(values))
