"""What a sliding manager must answer, by the rules of `tests/data/gsn/README.md`, step by step.

Shares nothing with the engine: instants are visited one by one (those of `remote_b` at which
something can happen), divisors are looked for by trying.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import floor, gcd
from typing import Any

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
    TupleCase,
)

Found = dict[str, Any]


def runs(case: FiringCase) -> Found:
    """Return what a case of firings expects."""
    match case:
        case CountCase():
            return {"firings": [*_count(case)]}
        case LocalCase():
            return _local(case)
        case EventCase():
            return {"firings": [*_event(case)]}
        case RemoteACase():
            return {"firings": [*_remote_a(case)]}
        case RemoteBCase():
            return _remote_b(case)


def _in_order(queries: Sequence[QueryCase]) -> list[QueryCase]:
    return sorted(queries, key=lambda query: (query.slide, query.id))


def _content(query: QueryCase, tuples: Sequence[TupleCase], last: int, now: int) -> Any:
    size = query.window.size
    if query.window.kind == "count":
        return [max(1, last - size + 1), last] if last else None
    inside = [t.pos for t in tuples if t.pos <= last and now - size < t.ts <= now]
    return [inside[0], inside[-1]] if inside else None


def _count(case: CountCase) -> Iterator[Found]:
    for t in case.tuples:
        for query in _in_order(case.queries):
            if query.active(t.pos) and t.pos % query.slide == 0:
                content = _content(query, case.tuples, t.pos, t.ts)
                yield {"pos": t.pos, "query": query.id, "content": content}


def _local(case: LocalCase) -> Found:
    ticks, firings = 0, []
    for at in range(case.start + 1, case.until + 1):
        active = [query for query in _in_order(case.queries) if query.active(at)]
        if not active or (at - case.origin) % gcd(*(query.slide for query in active)):
            continue
        ticks += 1
        last = max((t.pos for t in case.tuples if t.wall <= at), default=0)
        for query in active:
            if (at - case.origin) % query.slide == 0:
                content = _content(query, case.tuples, last, at)
                firings.append({"at": at, "query": query.id, "content": content})
    return {"firings": firings, "ticks": ticks}


def _event(case: EventCase) -> Iterator[Found]:
    progress = case.tuples[0].ts
    for t in case.tuples[1:]:
        for due in range(progress + 1, t.ts + 1):
            before = [one for one in case.tuples if one.ts < due]
            for query in _in_order(case.queries):
                if query.active(t.pos) and (due - case.origin) % query.slide == 0:
                    size, last = query.window.size, before[-1].pos
                    inside = [one.pos for one in before if one.ts >= due - size]
                    content: Any = [inside[0], inside[-1]] if inside else None
                    if query.window.kind == "count":
                        content = [max(1, last - size + 1), last]
                    yield {"pos": t.pos, "due": due, "query": query.id, "content": content}
        progress = max(progress, t.ts)


def _remote_a(case: RemoteACase) -> Iterator[Found]:
    due: dict[str, int] = {}
    for t in case.tuples:
        for query in _in_order(case.queries):
            if not query.active(t.pos):
                continue
            reached = due.get(query.id)
            if reached is not None and reached > t.ts:
                continue
            if reached is not None:
                content = _content(query, case.tuples, t.pos, t.ts)
                fired = {"pos": t.pos, "at": t.wall, "query": query.id, "due": reached}
                yield fired | {"content": content}
            due[query.id] = t.ts + query.slide


class _Group:
    """The timer of one slide."""

    def __init__(self, slide: int, first: TupleCase, delay: float) -> None:
        self.slide, self.first, self.delay = slide, first, delay
        self.pending: tuple[int, int] | None = None  # until when, and for which due time

    def tuple_comes(self, t: TupleCase, alpha: float) -> Iterator[tuple[int, str]]:
        delay = (t.wall - self.first.wall) - (t.ts - self.first.ts)
        self.delay = alpha * self.delay + (1 - alpha) * delay
        yield from self._fired("tuple")

    def instant_comes(self, at: int) -> Iterator[tuple[int, str]]:
        if self.pending is not None and self.pending[0] == at:
            yield from self._fired("timeout")
        since = at - self.first.wall
        if since > 0 and since % self.slide == 0:
            yield from self._fired("next_tick")
            due, wait = self.first.ts + since, floor(max(0, self.delay))
            if wait:
                self.pending = (at + wait, due)
            else:
                yield due, "tick"

    def next_after(self, at: int) -> int:
        """When something may happen again."""
        tick = at + self.slide - (at - self.first.wall) % self.slide
        pending = self.pending[0] if self.pending is not None else tick
        return min(tick, pending) if pending > at else tick

    def _fired(self, cause: str) -> Iterator[tuple[int, str]]:
        if self.pending is not None:
            yield self.pending[1], cause
            self.pending = None


def _remote_b(case: RemoteBCase) -> Found:
    groups: dict[int, _Group] = {}
    firings: list[Found] = []
    last, at = 0, case.tuples[0].wall
    while at <= case.until:
        here: list[tuple[int, int, int, str]] = []
        for t in (one for one in case.tuples if one.wall == at):
            last = t.pos
            for slide in {query.slide for query in case.queries}:
                if not any(q.slide == slide and q.active(last) for q in case.queries):
                    groups.pop(slide, None)
                elif slide not in groups:
                    groups[slide] = _Group(slide, t, case.lambda0)
                else:
                    fired = groups[slide].tuple_comes(t, case.alpha)
                    here += [(slide, last, due, cause) for due, cause in fired]
        for slide, group in groups.items():
            fired = group.instant_comes(at)
            here += [(slide, last, due, cause) for due, cause in fired]
        for query in _in_order(case.queries):
            for slide, pos, due, cause in here:
                if slide == query.slide and query.active(pos):
                    content = _content(query, case.tuples, pos, due)
                    place = {"at": at, "due": due, "query": query.id, "cause": cause}
                    firings.append({**place, "pos": pos, "content": content})
        ahead = [t.wall for t in case.tuples if t.wall > at]
        ahead += [group.next_after(at) for group in groups.values()]
        at = min(ahead, default=case.until + 1)
    return {"firings": firings, "final_lambda": {str(s): g.delay for s, g in groups.items()}}


def graphs(case: GraphCase) -> Found:
    """Return what a case of graphs expects: `plain` and `optimised`."""
    slides = [slide for slide in case.slides if case.in_graph(slide)]
    plain = tree(slides)
    plain["every_tuple"] = len(case.slides) - len(slides)
    plain["nodes"] = plain["plain_tests"] = len(set(slides))
    plain["weak"] = [list(edge) for edge in _weak(set(slides), _above(set(slides)))]
    plain["roots"] = sorted(one for one in set(slides) if not _divisors(one, set(slides)))
    return {"plain": plain, "optimised": _optimised(slides, case.params)}


def tree(slides: Sequence[int]) -> Found:
    """Return the graph of some slides, as far as a case states it after a step."""
    above = _above(set(slides))
    return _described(above, set(slides))


def _divisors(slide: int, among: set[int]) -> list[int]:
    return [one for one in among if one < slide and slide % one == 0]


def _above(real: set[int]) -> dict[int, int | None]:
    """Every slide, dummy root included, with the one above it."""
    roots = [slide for slide in real if not _divisors(slide, real)]
    known = real | {gcd(*roots)} if roots else real
    return {slide: max(_divisors(slide, known), default=None) for slide in known}


def _described(above: dict[int, int | None], real: set[int]) -> Found:
    root = next((slide for slide, parent in above.items() if parent is None), None)
    strong = {str(slide): parent for slide, parent in above.items() if parent is not None}
    tests = sum((Fraction(1, parent) for parent in strong.values()), Fraction(1 if above else 0))
    pushes = sum((Fraction(1, slide) for slide in above), Fraction(0))
    return {
        **{"root": root, "dummy_root": None if root in real else root, "strong": strong},
        **{"tests": str(tests), "tests_dec": float(tests), "pushes": str(pushes)},
    }


def _weak(real: set[int], above: dict[int, int | None]) -> list[tuple[int, int]]:
    pairs = [(a, b) for a in real for b in real if a != b and b % a == 0]
    covers = [
        (a, b)
        for a, b in pairs
        if not any(c not in (a, b) and c % a == 0 and b % c == 0 for c in real)
    ]
    return sorted((a, b) for a, b in covers if above[b] != a)


def _optimised(slides: Sequence[int], params: LimitsCase) -> Found:
    above, log = _above(set(slides)), list[Found]()
    gain, count, dummies, number, first = Fraction(0), 0, list[int](), 0, None
    while params.passes == "fix" or number < params.passes:
        number += 1
        offered = {node: chain for node in sorted(above) if (chain := _chain(node, above, params))}
        first = offered if first is None else first
        queue = [one for chain in offered.values() if (one := _choice(chain, params)) is not None]
        queue.sort(key=lambda one: (-one["theta"], one["node"]))
        taken = []
        while queue:
            one = queue.pop(0)
            ratio = (gain + one["O"]) / (params.cf.a + params.cf.b * (count + one["sigma"]))
            log.append({**one, "pass_no": number, "ratio": ratio})
            log[-1]["accepted"] = ratio > params.theta_g
            if log[-1]["accepted"]:
                gain, count = gain + one["O"], count + one["sigma"]
                taken.append(one)
                continue
            smaller = [other for other in offered[one["node"]] if other["sigma"] < one["sigma"]]
            if (other := _choice(smaller, params)) is not None:
                order = [(-each["theta"], each["node"]) for each in queue]
                place = sum(each <= (-other["theta"], other["node"]) for each in order)
                queue.insert(place, other)
        for one in taken:
            below = [slide for slide, parent in above.items() if parent == one["node"]]
            for slide in [*below, *one["dummies"]]:
                above[slide] = max(_divisors(slide, set(one["dummies"])), default=one["node"])
            dummies += one["dummies"]
        if not taken:
            break
    found = _described(above, set(slides))
    named = {"dummies": sorted(dummies), "sum_opt": str(gain), "sum_sigma": count}
    chains = [
        {
            "node": node,
            "C0": chain[0]["C0"],
            "variants": [
                {key: _text(one[key]) for key in ("sigma", "dummies", "C1", "O", "theta")}
                for one in chain
            ],
        }
        for node, chain in (first or {}).items()
    ]
    spelled = [
        {
            **{key: _text(one[key]) for key in ("pass_no", "node", "sigma", "O", "theta", "ratio")},
            "dummies": sorted(one["dummies"]),
            "accepted": one["accepted"],
        }
        for one in log
    ]
    return found | named | {"log": spelled, "variants": chains}


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else value


def _choice(chain: Sequence[Found], params: LimitsCase) -> Found | None:
    reaching = [one for one in chain if one["theta"] >= params.theta_l]
    return min(reaching, key=lambda one: (-one["theta"], one["sigma"]), default=None)


def _chain(node: int, above: dict[int, int | None], params: LimitsCase) -> list[Found]:
    """All variants of a node, each with one dummy more."""
    below = [slide for slide, parent in above.items() if parent == node]
    candidates = {gcd(a, b) for a, b in combinations(below, 2)}
    while more := {gcd(a, b) for a, b in combinations(candidates, 2)} - candidates:
        candidates |= more
    candidates.discard(node)
    chain: list[Found] = []
    chosen: list[int] = []
    cost = Fraction(len(below))
    while params.max_sigma is None or len(chain) < params.max_sigma:
        costs = [
            (_cost(node, below, [*chosen, one]), -one) for one in candidates if one not in chosen
        ]
        if not costs or min(costs)[0] >= cost:
            break
        cost, best = min(costs)
        chosen = [*chosen, -best]
        gain = (len(below) - cost) / len(below) / node
        theta = gain / (params.cf.a + params.cf.b * len(chosen))
        chain.append(
            {
                **{"node": node, "sigma": len(chosen), "dummies": chosen},
                **{"C0": len(below), "C1": cost, "O": gain, "theta": theta},
            }
        )
    return chain


def _cost(node: int, below: Sequence[int], dummies: list[int]) -> Fraction:
    parents = (max(_divisors(one, set(dummies)), default=node) for one in [*below, *dummies])
    return sum((Fraction(node, parent) for parent in parents), Fraction(0))
