"""Run recorded graphs on our sliding graph, and recorded queries on our sliding manager.

Queries are run by every schedule, and in several batches.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, Final, Protocol

from conformance.cases import Driver, Verdict
from conformance.gsn import (
    CountCase,
    EventCase,
    FiringCase,
    GraphCase,
    LimitsCase,
    LocalCase,
    QueryCase,
    RemoteACase,
    RemoteBCase,
    judge,
    judge_firings,
)
from windowing.research.slides.active import ActiveQueries, SlidingQuery
from windowing.research.slides.graph import SlidingGraph, SlidingTree
from windowing.research.slides.optimiser import Decision, Limits, optimise, variants
from windowing.research.slides.remote import TimerDriven, TupleDriven
from windowing.research.slides.schedules import SCHEDULES, Graph, Schedule


def judge_graph(case: GraphCase) -> list[Verdict]:
    """Build a graph, optimise it, and change it step by step."""
    graph = SlidingGraph(slide for slide in case.slides if case.in_graph(slide))
    found = {
        "plain": _plain(case, graph),
        "optimised": _optimised(graph.tree, _limits(case.params)),
    }
    steps = []
    for step in case.steps:
        if case.in_graph(step.slide):
            (graph.add if step.op == "add" else graph.remove)(step.slide)
        steps.append(_tree(graph.tree))
    return [judge(case, found, steps, GRAPHS.name)]


GRAPHS = Driver("graph", judge_graph)


def _limits(given: LimitsCase) -> Limits:
    return Limits(
        node=given.theta_l,
        graph=given.theta_g,
        base=given.cf.a,
        per_dummy=given.cf.b,
        passes=None if given.passes == "fix" else given.passes,
        dummies_max=given.max_sigma,
    )


def _tree(tree: SlidingTree) -> dict[str, Any]:
    return {
        "root": tree.root,
        "dummy_root": tree.dummy_root,
        "strong": {str(slide): parent for slide, parent in tree.parents.items()},
        "tests": str(tree.tests),
        "tests_dec": float(tree.tests),
        "pushes": str(tree.pushes),
    }


def _plain(case: GraphCase, graph: SlidingGraph) -> dict[str, Any]:
    return _tree(graph.tree) | {
        "every_tuple": sum(not case.in_graph(slide) for slide in case.slides),
        "nodes": len(graph.nodes),
        "plain_tests": len(graph.nodes),
        "roots": graph.roots,
        "weak": [[*edge] for edge in graph.weak],
    }


def _optimised(tree: SlidingTree, limits: Limits) -> dict[str, Any]:
    found = optimise(tree, limits)
    chains = [(slide, variants(tree, slide, limits.dummies_max)) for slide in sorted(tree.children)]
    return _tree(found.tree) | {
        "dummies": [*found.dummies],
        "sum_opt": str(found.gain),
        "sum_sigma": len(found.dummies),
        "log": [_decision(one, limits) for one in found.log],
        "variants": [
            {
                "node": slide,
                "C0": chain[0].before,
                "variants": [
                    {
                        "sigma": len(one.dummies),
                        "dummies": [*one.dummies],
                        "C1": str(one.after),
                        "O": str(one.gain),
                        "theta": str(one.theta(limits)),
                    }
                    for one in chain
                ],
            }
            for slide, chain in chains
            if chain
        ],
    }


def _decision(decision: Decision, limits: Limits) -> dict[str, Any]:
    variant = decision.variant
    return {
        "pass_no": decision.pass_number,
        "node": variant.slide,
        "sigma": len(variant.dummies),
        "dummies": sorted(variant.dummies),
        "O": str(variant.gain),
        "theta": str(variant.theta(limits)),
        "ratio": str(decision.ratio),
        "accepted": decision.accepted,
    }


Found = dict[str, Any]

_CUTS_MAX: Final = 50

_SCHEDULES: Final[dict[str, Callable[[], Schedule]]] = {
    **SCHEDULES,
    "optimised graph": lambda: Graph(lambda tree: optimise(tree, Limits(passes=None)).tree),
}


def firings(cuts: int) -> Driver[FiringCase]:
    """Return the sliding manager, with tuples cut into so many other sequences of batches."""
    return Driver("manager", partial(judge_runs, cuts=cuts))


def judge_runs(case: FiringCase, cuts: int) -> list[Verdict]:
    """Run the queries of a case in all ways that must agree."""
    match case:
        case RemoteACase():
            found = {"tuple-driven": _remote_a(case)}
        case RemoteBCase():
            found = {"timers": _remote_b(case)}
        case _:
            found = dict(_scheduled(case, cuts))
    return [judge_firings(case, one, by) for by, one in found.items()]


def _scheduled(case: CountCase | LocalCase | EventCase, cuts: int) -> Iterator[tuple[str, Found]]:
    for name, schedule in _SCHEDULES.items():
        for cut in range(cuts + 1):
            draw = random.Random(f"{case.id} {cut}") if cut else None
            yield (f"{name}, cut {cut}" if cut else name), _cut(case, schedule(), draw)


def _cut(
    case: CountCase | LocalCase | EventCase, schedule: Schedule, draw: random.Random | None
) -> Found:
    match case:
        case LocalCase():
            instants = range(case.start + 1, case.until + 1)
            return _by_timer(case, schedule, _batches(instants, draw))
        case CountCase():
            return _by_count(case, schedule, _batches([one.pos for one in case.tuples], draw))
        case EventCase():
            return _by_event_time(case, schedule, _batches([t.pos for t in case.tuples], draw))


def _batches(instants: Sequence[int], draw: random.Random | None) -> list[int]:
    """Return where batches end: all at the last instant, or drawn."""
    cuts = [] if draw is None else draw.sample(instants, min(len(instants) // 3, _CUTS_MAX))
    return sorted({*cuts, *instants[-1:]})


class _Members(Protocol):
    def join(self, query: SlidingQuery) -> None: ...

    def leave(self, query: SlidingQuery) -> None: ...


class _Course:
    """Queries that come and go.

    Attributes:
        queries: by their names.
    """

    def __init__(self, queries: Sequence[QueryCase], manager: _Members) -> None:
        self.queries = {query.id: query for query in queries}
        self._manager = manager
        self._active: set[str] = set()

    def at(self, where: int) -> None:
        """Let the queries join and leave that do so until there."""
        for query in self.queries.values():
            if query.active(where) != (query.id in self._active):
                change = self._manager.leave if query.id in self._active else self._manager.join
                change(SlidingQuery(query.id, query.slide))
                self._active ^= {query.id}

    def parts(self, after: int, until: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of a batch in which no query comes or goes; `at` precedes each."""
        changes = {
            where - 1
            for query in self.queries.values()
            for where in (query.join, query.leave)
            if where is not None and after < where - 1 < until
        }
        for end in sorted({*changes, until}):
            self.at(after + 1)
            yield after, end
            after = end


def _by_count(case: CountCase, schedule: Schedule, ends: Sequence[int]) -> Found:
    course = _Course(case.queries, manager := ActiveQueries(schedule))
    tuples = {one.pos: one for one in case.tuples}
    firings = []
    for batch in pairwise([_first(case) - 1, *ends]):
        for part in course.parts(*batch):
            for pos, query in manager.due(*part):
                content = _content(course.queries[query.id], case, pos, tuples[pos].ts)
                firings.append({"pos": pos, "query": query.id, "content": content})
    return {"firings": firings}


def _by_timer(case: LocalCase, schedule: Schedule, ends: Sequence[int]) -> Found:
    course = _Course(case.queries, manager := ActiveQueries(schedule, case.origin))
    firings, ticks = [], 0
    for batch in pairwise([case.start, *ends]):
        for part in course.parts(*batch):
            for at, query in manager.due(*part):
                content = _content(course.queries[query.id], case, _arrived(case, at), at)
                firings.append({"at": at, "query": query.id, "content": content})
            ticks += manager.ticks(*part)
    return {"firings": firings, "ticks": ticks}


def _by_event_time(case: EventCase, schedule: Schedule, ends: Sequence[int]) -> Found:
    course = _Course(case.queries, manager := ActiveQueries(schedule, case.origin))
    first = _first(case)
    progress = [*accumulate((one.ts for one in case.tuples), max)]
    firings = []
    # The first tuple only says where progress begins.
    for batch in pairwise([first, *(end for end in ends if end > first)]):
        for after, until in course.parts(*batch):
            reached = progress[after - first : until - first + 1]
            for due, query in manager.due(reached[0], reached[-1]):
                pos = after + bisect_left(reached, due)
                content = _before(course.queries[query.id], case, due)
                place = {"pos": pos, "due": due, "query": query.id}
                firings.append({**place, "content": content})
    return {"firings": firings}


def _remote_a(case: RemoteACase) -> Found:
    course = _Course(case.queries, manager := TupleDriven())
    firings = []
    for one in case.tuples:
        course.at(one.pos)
        firings += [
            {
                **{"pos": one.pos, "at": one.wall, "query": query.id, "due": due},
                "content": _content(course.queries[query.id], case, one.pos, one.ts),
            }
            for due, query in manager.take(one.ts)
        ]
    return {"firings": firings}


def _remote_b(case: RemoteBCase) -> Found:
    course = _Course(case.queries, manager := TimerDriven(case.alpha, case.lambda0))
    runs, arrived = [], 0
    for one in case.tuples:
        runs += [(arrived, *run) for run in manager.until(one.wall, inclusive=False)]
        arrived = one.pos
        course.at(arrived)
        runs += [(arrived, *run) for run in manager.take(one.wall, one.ts)]
    runs += [(arrived, *run) for run in manager.until(case.until, inclusive=True)]
    # At one instant a tuple may begin a run, and a tick another.
    runs.sort(key=lambda run: (run[1].at, run[2].slide, run[2].id))
    firings = [
        {
            **{"at": run.at, "due": run.due, "query": query.id, "cause": run.cause, "pos": pos},
            "content": _content(course.queries[query.id], case, pos, run.due),
        }
        for pos, run, query in runs
    ]
    return {
        "firings": firings,
        "final_lambda": {str(slide): delay for slide, delay in manager.delays.items()},
    }


def _first(case: FiringCase) -> int:
    return case.tuples[0].pos if case.tuples else 1


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
