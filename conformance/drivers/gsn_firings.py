"""Run recorded queries on our sliding manager, by every schedule and in several batches."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from conformance.drivers.driver import Outcome
from conformance.gsn.firings import (
    CountCase,
    EventCase,
    FiringCase,
    LocalCase,
    QueryCase,
    RemoteACase,
    RemoteBCase,
)
from conformance.gsn.judge import judge_firings
from windowing.engine.slides.active import ActiveQueries, SlidingQuery
from windowing.engine.slides.optimiser import Limits, optimise
from windowing.engine.slides.remote import Run, Timer, TupleDriven
from windowing.engine.slides.schedules import SCHEDULES, Graph, Schedule

Found = dict[str, Any]

_SCHEDULES: Final[dict[str, Callable[[], Schedule]]] = {
    **SCHEDULES,
    "optimised graph": lambda: Graph(lambda tree: optimise(tree, Limits(passes=None)).tree),
}


class Firings:
    """The sliding manager.

    Args:
        cuts: into how many other sequences of batches the tuples are cut.
    """

    name = "manager"

    def __init__(self, cuts: int) -> None:
        self._cuts = cuts

    def run(self, case: FiringCase, /) -> Outcome:
        """Run the queries of a case in all ways that must agree."""
        match case:
            case RemoteACase():
                found = {"tuple-driven": _remote_a(case)}
            case RemoteBCase():
                found = {"timers": _remote_b(case)}
            case _:
                found = dict(self._scheduled(case))
        return Outcome(tuple(judge_firings(case, one, by) for by, one in found.items()))

    def _scheduled(self, case: CountCase | LocalCase | EventCase) -> Iterator[tuple[str, Found]]:
        for name, schedule in _SCHEDULES.items():
            for cut in range(self._cuts + 1):
                draw = random.Random(f"{case.id} {cut}") if cut else None
                by = f"{name}, cut {cut}" if cut else name
                origin = 0 if isinstance(case, CountCase) else case.origin
                course = _Course(case.queries, ActiveQueries(schedule(), origin))
                match case:
                    case CountCase():
                        ends = _batches([one.pos for one in case.tuples], draw)
                        yield by, _by_count(case, course, ends)
                    case LocalCase():
                        ends = _batches(range(case.start + 1, case.until + 1), draw)
                        yield by, _by_timer(case, course, ends)
                    case EventCase():
                        yield name, _by_event_time(case, course)


def _batches(instants: Sequence[int], draw: random.Random | None) -> list[int]:
    """Return where batches end: all at the last instant, or drawn."""
    cuts = [] if draw is None else [one for one in instants if draw.random() < 1 / 3]
    return sorted({*cuts, *instants[-1:]})


class _Course:
    """A manager whose queries come and go.

    Attributes:
        ticks: how often one timer for the active queries has ticked.
    """

    def __init__(self, queries: Sequence[QueryCase], manager: ActiveQueries) -> None:
        self._queries = {query.id: query for query in queries}
        self._manager = manager
        self._active: set[str] = set()
        self.ticks = 0

    def at(self, where: int) -> None:
        """Let the queries join and leave that do so until there."""
        for query in self._queries.values():
            if query.active(where) != (query.id in self._active):
                change = self._manager.leave if query.id in self._active else self._manager.join
                change(SlidingQuery(query.id, query.slide))
                self._active ^= {query.id}

    def due(self, after: int, until: int) -> Iterator[tuple[int, QueryCase]]:
        """Yield the runs of the active queries."""
        for instant, query in self._manager.due(after, until):
            yield instant, self._queries[query.id]
        self.ticks += self._manager.ticks(after, until)

    def batch(self, after: int, until: int) -> Iterator[tuple[int, QueryCase]]:
        """Yield the runs of a batch; where queries change within it, it is done in parts."""
        changes = {
            where - 1
            for query in self._queries.values()
            for where in (query.join, query.leave)
            if where is not None and after < where - 1 < until
        }
        for end in sorted({*changes, until}):
            self.at(after + 1)
            yield from self.due(after, end)
            after = end


def _by_count(case: CountCase, course: _Course, ends: Sequence[int]) -> Found:
    after, tuples = case.tuples[0].pos - 1, {one.pos: one for one in case.tuples}
    firings = [
        {"pos": pos, "query": query.id, "content": _content(query, case, pos, tuples[pos].ts)}
        for before, until in pairwise([after, *ends])
        for pos, query in course.batch(before, until)
    ]
    return {"firings": firings}


def _by_timer(case: LocalCase, course: _Course, ends: Sequence[int]) -> Found:
    firings = [
        {"at": at, "query": query.id, "content": _content(query, case, _arrived(case, at), at)}
        for before, until in pairwise([case.start, *ends])
        for at, query in course.batch(before, until)
    ]
    return {"firings": firings, "ticks": course.ticks}


def _by_event_time(case: EventCase, course: _Course) -> Found:
    firings, progress = [], case.tuples[0].ts
    for one in case.tuples[1:]:
        course.at(one.pos)
        reached = max(progress, one.ts)
        firings += [
            {"pos": one.pos, "due": due, "query": query.id, "content": _before(query, case, due)}
            for due, query in course.due(progress, reached)
        ]
        progress = reached
    return {"firings": firings}


def _remote_a(case: RemoteACase) -> Found:
    course = TupleDriven()
    known, active, firings = {query.id: query for query in case.queries}, set[str](), []
    for one in case.tuples:
        for query in case.queries:
            if query.active(one.pos) != (query.id in active):
                change = course.leave if query.id in active else course.join
                change(SlidingQuery(query.id, query.slide))
                active ^= {query.id}
        firings += [
            {
                **{"pos": one.pos, "at": one.wall, "query": query.id, "due": due},
                "content": _content(known[query.id], case, one.pos, one.ts),
            }
            for due, query in course.take(one.ts)
        ]
    return {"firings": firings}


def _remote_b(case: RemoteBCase) -> Found:
    timers: dict[int, Timer] = {}
    firings: list[Found] = []
    arrived = 0
    for one in case.tuples:
        for timer in timers.values():
            firings += _of_runs(case, timer.until(one.wall, inclusive=False), arrived)
        arrived = one.pos
        for slide in sorted({query.slide for query in case.queries}):
            if not any(q.slide == slide and q.active(arrived) for q in case.queries):
                timers.pop(slide, None)
            elif slide in timers:
                firings += _of_runs(case, timers[slide].take(one.wall, one.ts), arrived)
            else:
                timers[slide] = Timer(slide, case.alpha, one.wall, one.ts, case.lambda0)
    for timer in timers.values():
        firings += _of_runs(case, timer.until(case.until, inclusive=True), arrived)
    slides = {query.id: query.slide for query in case.queries}
    firings.sort(key=lambda run: (run["at"], slides[run["query"]], run["query"]))
    return {
        "firings": firings,
        "final_lambda": {str(slide): timer.delay for slide, timer in timers.items()},
    }


def _of_runs(case: RemoteBCase, runs: Iterator[Run], arrived: int) -> Iterator[Found]:
    """Yield what a timer's runs are for the queries that are active."""
    for run in runs:
        for query in case.queries:
            if query.slide == run.slide and query.active(arrived):
                content = _content(query, case, arrived, run.due)
                place = {"at": run.at, "due": run.due, "query": query.id, "cause": run.cause}
                yield {**place, "pos": arrived, "content": content}


def _arrived(case: FiringCase, wall: int) -> int:
    """Return the position of the last tuple until an instant of the wall clock; 0: none."""
    return max((one.pos for one in case.tuples if one.wall <= wall), default=0)


def _content(query: QueryCase, case: FiringCase, pos: int, now: int) -> list[int] | None:
    """Return the first and last position in a window over what has arrived until a position."""
    if query.window.kind == "count":
        return [max(1, pos - query.window.size + 1), pos] if pos else None
    inside = [
        one.pos for one in case.tuples if one.pos <= pos and now - query.window.size < one.ts <= now
    ]
    return [inside[0], inside[-1]] if inside else None


def _before(query: QueryCase, case: EventCase, due: int) -> list[int] | None:
    """Return the first and last position in a window that ends before a due time."""
    earlier = [one for one in case.tuples if one.ts < due]
    if query.window.kind == "count":
        last = earlier[-1].pos if earlier else 0
        return [max(1, last - query.window.size + 1), last] if last else None
    inside = [one.pos for one in earlier if one.ts >= due - query.window.size]
    return [inside[0], inside[-1]] if inside else None
