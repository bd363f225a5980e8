"""The sliding manager: which of many queries on one stream run now.

Windows do not matter for that, so queries with one slide are one entry of the schedule. The phase
is global: a query runs at multiples of its slide on the stream's own counter or clock, whenever it
joined. A query that joins therefore gives the rows of one that always ran.

Source: Salehi et al., "Knowing when to slide", sections 3 to 5; local time with a fixed origin and
event time are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from windowing.engine.slides.schedules import Calendar, Schedule, in_pairs


@dataclass(frozen=True)
class SlidingQuery:
    """A query as the manager knows it.

    Attributes:
        id: its name; orders what is due at one instant.
        slide: how far its window moves between two runs, in records or in units of the clock.
    """

    id: str
    slide: int


class ActiveQueries:
    """The queries that are active, and when they run.

    Args:
        schedule: how due slides are found; all ways give the same runs.
        origin: an instant at which every query is due.
    """

    def __init__(self, schedule: Schedule | None = None, origin: int = 0) -> None:
        self._schedule = Calendar() if schedule is None else schedule
        self._origin = origin
        self._queries: dict[int, list[str]] = {}

    def join(self, query: SlidingQuery) -> None:
        """Let a query join.

        Raises:
            ValueError: its slide is not positive.
        """
        if query.slide < 1:
            msg = f"query {query.id} has a slide of {query.slide}: use an integer from 1"
            raise ValueError(msg)
        if query.slide not in self._queries:
            self._schedule.add(query.slide)
        group = self._queries.setdefault(query.slide, [])
        group.append(query.id)
        group.sort()

    def leave(self, query: SlidingQuery) -> None:
        """Let a query leave.

        Raises:
            KeyError: it is not active.
        """
        group = self._queries.get(query.slide, [])
        if query.id not in group:
            msg = f"query {query.id} with a slide of {query.slide} is not active"
            raise KeyError(msg)
        group.remove(query.id)
        if not group:
            del self._queries[query.slide]
            self._schedule.remove(query.slide)

    def due(self, after: int, until: int) -> Iterator[tuple[int, SlidingQuery]]:
        """Yield the runs after one instant, until another one included.

        They come by instant, slide and name.
        """
        due = self._schedule.between(after - self._origin, until - self._origin)
        for instant, slide in in_pairs(due):
            for name in self._queries[slide]:
                yield instant + self._origin, SlidingQuery(name, slide)

    def ticks(self, after: int, until: int) -> int:
        """Return how often one timer for all active queries ticks: at multiples of their gcd."""
        if not self._queries:
            return 0
        period = gcd(*self._queries)
        return (until - self._origin) // period - (after - self._origin) // period
