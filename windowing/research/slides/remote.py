"""Slides by the time stamps of a source: when tuples drive them, and when a timer does.

Both depend on when a query joins, and the second one on the wall clock, too. Neither is a function
of the log alone; they are here for comparison with systems that work so.

Source: Salehi et al., "Knowing when to slide", section 5 (remote time, algorithms A and B); where
the paper is silent, `gsn.md` 5 and the README of its data.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from windowing.research.slides.active import SlidingQuery

Cause = Literal["tick", "timeout", "tuple", "next_tick"]
"""Why a run begins: its tick, the end of the wait after it, a tuple within the wait, or the next
tick."""


class TupleDriven:
    """Runs that only tuples begin (A): at most one per tuple and query, late by up to a gap."""

    def __init__(self) -> None:
        self._next: list[tuple[int, int, str]] = []
        self._waiting: list[SlidingQuery] = []

    def join(self, query: SlidingQuery) -> None:
        """Let a query join: the next tuple sets its first due time."""
        self._waiting.append(query)

    def leave(self, query: SlidingQuery) -> None:
        """Let a query leave."""
        self._waiting = [one for one in self._waiting if one.id != query.id]
        self._next = [one for one in self._next if one[2] != query.id]
        heapq.heapify(self._next)

    def take(self, ts: int) -> list[tuple[int, SlidingQuery]]:
        """Take a tuple with a time stamp, and return the due times and queries of its runs."""
        runs = []
        while self._next and self._next[0][0] <= ts:
            due, slide, name = heapq.heappop(self._next)
            runs.append((due, SlidingQuery(name, slide)))
        for query in [*(query for _, query in runs), *self._waiting]:
            heapq.heappush(self._next, (ts + query.slide, query.slide, query.id))
        self._waiting = []
        return sorted(runs, key=lambda run: (run[1].slide, run[1].id))


@dataclass(frozen=True)
class Run:
    """A run that a timer began.

    Attributes:
        at: the wall clock then.
        due: the time stamp that it is due at.
    """

    at: int
    due: int
    slide: int
    cause: Cause


@dataclass
class Timer:
    """A timer of one slide (B): each tick waits for stragglers, as long as they usually take.

    Attributes:
        wall, ts: wall clock and time stamp of the first tuple.
        delay: the mean delay of tuples (lambda).
    """

    slide: int
    wall: int
    ts: int
    delay: float
    _ticks: int = 1
    _pending: tuple[int, int] | None = field(default=None)

    def until(self, wall: int, *, inclusive: bool) -> Iterator[Run]:
        """Let the clock run, and yield the runs on the way.

        Args:
            inclusive: whether what happens exactly then has happened, too; before a tuple that
                comes then it has not.
        """
        limit = wall if inclusive else wall - 1
        while True:
            tick = self.wall + self._ticks * self.slide
            # At one instant the timeout comes before the tick.
            if self._pending is not None and self._pending[0] <= min(tick, limit):
                yield self._run(self._pending[0], "timeout")
            elif tick <= limit:
                yield from self._tick(tick)
            else:
                return

    def take(self, wall: int, ts: int, alpha: float) -> Iterator[Run]:
        """Take a tuple: it adjusts the mean delay, and ends a wait.

        Args:
            alpha: the weight of the past in the mean delay, from 0 to 1.
        """
        delay = (wall - self.wall) - (ts - self.ts)
        self.delay = alpha * self.delay + (1 - alpha) * delay
        if self._pending is not None:
            yield self._run(wall, "tuple")

    def _tick(self, at: int) -> Iterator[Run]:
        if self._pending is not None:
            yield self._run(at, "next_tick")
        due = self.ts + self._ticks * self.slide
        self._ticks += 1
        wait = math.floor(max(0.0, self.delay))
        if wait:
            self._pending = (at + wait, due)
        else:
            yield Run(at, due, self.slide, "tick")

    def _run(self, at: int, cause: Cause) -> Run:
        assert self._pending is not None  # noqa: S101 - callers have looked
        (_, due), self._pending = self._pending, None
        return Run(at, due, self.slide, cause)


class TimerDriven:
    """Runs that timers begin (B): one timer for all queries of a slide.

    The first tuple that comes while such queries are active starts it. A tuple that comes when none
    is active any more drops it, with its mean delay and the run that it waits with.

    Args:
        alpha: the weight of the past in the mean delay, from 0 to 1; may be changed at any time.
        delay: the mean delay that a timer begins with.
    """

    def __init__(self, alpha: float, delay: float = 0.0) -> None:
        self.alpha = alpha
        self._delay = delay
        self._queries: dict[int, list[SlidingQuery]] = {}
        self._timers: dict[int, Timer] = {}

    @property
    def delays(self) -> dict[int, float]:
        """The mean delay of each timer, by its slide."""
        return {slide: timer.delay for slide, timer in self._timers.items()}

    def join(self, query: SlidingQuery) -> None:
        """Let a query join: from the next tuple on."""
        self._queries.setdefault(query.slide, []).append(query)

    def leave(self, query: SlidingQuery) -> None:
        """Let a query leave."""
        self._queries[query.slide].remove(query)

    def until(self, wall: int, *, inclusive: bool) -> list[tuple[Run, SlidingQuery]]:
        """Let the clock run, and return the runs on the way with their queries.

        Args:
            inclusive: whether what happens exactly then has happened, too; before a tuple that
                comes then it has not.
        """
        return self._of_queries(
            run for timer in self._timers.values() for run in timer.until(wall, inclusive=inclusive)
        )

    def take(self, wall: int, ts: int) -> list[tuple[Run, SlidingQuery]]:
        """Take a tuple, and return the runs that it begins, with their queries."""
        for slide in [slide for slide, queries in self._queries.items() if not queries]:
            del self._queries[slide]
            self._timers.pop(slide, None)
        runs = list[Run]()
        for slide in self._queries:
            if slide in self._timers:
                runs += self._timers[slide].take(wall, ts, self.alpha)
            else:
                self._timers[slide] = Timer(slide, wall, ts, self._delay)
        return self._of_queries(runs)

    def _of_queries(self, runs: Iterable[Run]) -> list[tuple[Run, SlidingQuery]]:
        """Return runs with each of their queries, by instant, slide and name."""
        found = [(run, query) for run in runs for query in self._queries[run.slide]]
        return sorted(found, key=lambda one: (one[0].at, one[1].slide, one[1].id))
