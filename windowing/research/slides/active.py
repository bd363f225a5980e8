"""The sliding manager: which of many queries on one stream run now.

Windows do not matter for that, so queries with one slide are one entry of the schedule. The phase
is global: a query runs at multiples of its slide on the stream's own counter or clock, whenever it
joined. A query that joins therefore gives the rows of one that always ran.

Source: Salehi et al., "Knowing when to slide", sections 3 to 5; local time with a fixed origin and
event time are ours.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import gcd

import numpy as np
from numpy.typing import NDArray

from windowing.engine.wids import Ints
from windowing.research.slides.schedules import Calendar, DueSlides, Schedule


@dataclass(frozen=True)
class SlidingQuery:
    """A query as the manager knows it.

    Attributes:
        id: its name; orders what is due at one instant.
        slide: how far its window moves between two runs, in records or in units of the clock.
    """

    id: str
    slide: int


@dataclass(frozen=True)
class Runs:
    """The runs of a batch, in order: by instant, slide and name.

    Attributes:
        numbers: of its query in `queries`; as short integers, because there are as many as runs.
        queries: the active queries, by slide and name.
    """

    instants: Ints
    numbers: NDArray[np.int32]
    queries: Sequence[SlidingQuery]


class _ActiveQueries:
    """The active queries in their order, and where those of a slide begin.

    Attributes:
        queries: by slide and name.
    """

    def __init__(self, by_slide: dict[int, list[SlidingQuery]]) -> None:
        slides = sorted(by_slide)
        self._slides = np.array(slides, dtype=np.int64)
        self._counts = np.array([len(by_slide[slide]) for slide in slides], dtype=np.int32)
        self._begins = np.cumsum(self._counts, dtype=np.int32) - self._counts
        self.queries = [*chain.from_iterable(by_slide[slide] for slide in slides)]

    def runs(self, due: DueSlides, origin: int) -> Runs:
        """Return the runs of the queries that have due slides.

        Args:
            due: what is due, as distances from the origin.
            origin: an instant at which every query is due.
        """
        at = np.searchsorted(self._slides, due.slides) if due.places is None else due.places
        counts = self._counts[at]
        ends = np.cumsum(counts, dtype=np.int32)
        numbers = np.arange(ends[-1] if len(ends) else 0, dtype=np.int32)
        numbers += np.repeat(self._begins[at] - (ends - counts), counts)
        return Runs(np.repeat(due.instants + origin, counts), numbers, self.queries)


class ActiveQueries:
    """The queries that are active, and when they run.

    Args:
        schedule: how due slides are found; all ways give the same runs.
        origin: an instant at which every query is due.
    """

    def __init__(self, schedule: Schedule | None = None, origin: int = 0) -> None:
        self._schedule = Calendar() if schedule is None else schedule
        self._origin = origin
        self._by_slide: dict[int, list[SlidingQuery]] = {}
        self._listed: _ActiveQueries | None = None

    def join(self, query: SlidingQuery) -> None:
        """Let a query join.

        Raises:
            ValueError: its slide is not positive.
        """
        if query.slide < 1:
            msg = f"query {query.id} has a slide of {query.slide}: use an integer from 1"
            raise ValueError(msg)
        if query.slide not in self._by_slide:
            self._schedule.add(query.slide)
        insort(self._by_slide.setdefault(query.slide, []), query, key=lambda one: one.id)
        self._listed = None

    def leave(self, query: SlidingQuery) -> None:
        """Let a query leave.

        Raises:
            KeyError: it is not active.
        """
        group = self._by_slide.get(query.slide, [])
        if query not in group:
            msg = f"query {query.id} with a slide of {query.slide} is not active"
            raise KeyError(msg)
        group.remove(query)
        if not group:
            del self._by_slide[query.slide]
            self._schedule.remove(query.slide)
        self._listed = None

    def runs(self, after: int, until: int) -> Runs:
        """Return the runs after one instant, until another one included, as columns."""
        if self._listed is None:
            self._listed = _ActiveQueries(self._by_slide)
        due = self._schedule.between(after - self._origin, until - self._origin)
        return self._listed.runs(due, self._origin)

    def due(self, after: int, until: int) -> Iterator[tuple[int, SlidingQuery]]:
        """Yield the runs after one instant, until another one included, in their order."""
        runs = self.runs(after, until)
        for instant, number in zip(runs.instants.tolist(), runs.numbers.tolist(), strict=True):
            yield instant, runs.queries[number]

    def ticks(self, after: int, until: int) -> int:
        """Return how often one timer for all active queries ticks: at multiples of their gcd."""
        if not self._by_slide:
            return 0
        period = gcd(*self._by_slide)
        return (until - self._origin) // period - (after - self._origin) // period
