"""The join of two streams, by definition: every left record beside every right one.

A pair has the instant of the later of its records. In an outer join a record of a side that is kept
is sent alone at the instant at which every partner on time has come, unless it has a pair by then;
the first pair that comes later takes that row back.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from windowing.model.join import Side
from windowing.model.operator import JoinSpec
from windowing.model.record import Bound, Pair, Place, Progress, Record, place_of
from windowing.semantics.operators.log import Met, follow, release
from windowing.semantics.session_course import Entry, sessions_of

Timed = tuple[int, Met]
"""A record and the instant at which it is delivered."""


@dataclass(frozen=True)
class Sent:
    """A row and what its place among the rows follows from.

    Attributes:
        instant: when it is sent.
        left, right: the records; None: the other one is alone.
        retracts: it takes back that a record was alone.
    """

    instant: Progress
    left: Met | None
    right: Met | None
    retracts: bool = False

    @property
    def row(self) -> Pair:
        """The row as an operator sends it."""
        left, right = (None if met is None else met.record for met in (self.left, self.right))
        return Pair(left, right, retracts=self.retracts)

    @property
    def order(self) -> tuple[Progress, int, list[Place], list[Place]]:
        """By instant: what is taken back, pairs, what is alone; then by places, nothing first."""
        alone = self.left is None or self.right is None
        kind = 0 if self.retracts else 2 if alone else 1
        left, right = ([] if met is None else [met.place] for met in (self.left, self.right))
        return self.instant, kind, left, right


def pairs_of(
    spec: JoinSpec, log: Iterable[Record | Bound]
) -> tuple[list[Pair], list[Pair], list[Record]]:
    """The rows that progress has reached, in their order; all rows; the refused records."""
    read = follow(spec, log)
    sides: dict[Side, list[Timed]] = {"left": [], "right": []}
    side_of: dict[str, Side] = {lane.name: lane.side or "left" for lane in spec.lanes}
    refused = []
    for met in read.met:
        own = sides[side_of[met.record.lane]]
        if spec.axis == "rows":
            place = place_of(len(own), met.record.lane, met.record.offset)
            own.append((len(own) + 1, replace(met, at=len(own), place=place)))
        elif met.at >= met.before:
            own.append((met.at + 1, met))
        elif _taken(spec, met):
            own.append((release(met.before, spec.late.every), met))
        else:
            refused.append(met.record)
    progress: Progress = read.progress
    if spec.axis == "rows" and progress < math.inf:
        progress = min(len(own) for own in sides.values())
    rows = rows_of(spec, sides)
    reached = [sent.row for sent in rows if sent.instant <= progress]
    return reached, [sent.row for sent in rows], refused


def rows_of(spec: JoinSpec, sides: Mapping[Side, Sequence[Timed]]) -> list[Sent]:
    """All rows that two sides' records ever send, in their order.

    Args:
        spec: of the join; of late records it says nothing here.
        sides: the accepted records of each side.
    """
    if spec.session_gap is not None:
        return _in_sessions(spec, spec.session_gap, sides)
    by_key: dict[str | None, list[Timed]] = defaultdict(list)
    for other in sides["right"]:
        by_key[other[1].record.key if spec.equality else None].append(other)
    pairs = [
        Sent(max(one, other), left, right)
        for one, left in sides["left"]
        for other, right in by_key[left.record.key if spec.equality else None]
        if _matches(spec, left, right)
    ]
    return sorted([*pairs, *_alone(spec, sides, pairs)], key=lambda sent: sent.order)


def _in_sessions(spec: JoinSpec, gap: int, sides: Mapping[Side, Sequence[Timed]]) -> list[Sent]:
    """Each pair at the first instant at which a chain of what is there connects the two."""
    every = [*sides["left"], *sides["right"]]
    sent = []
    for one, left in sides["left"]:
        for other, right in sides["right"]:
            key = left.record.key
            condition = spec.condition is None or spec.condition(left.record, right.record)
            if key is None or key != right.record.key or not condition:
                continue
            own = [timed for timed in every if timed[1].record.key == key]
            instants = sorted({instant for instant, _ in own if instant >= max(one, other)})
            for x in instants:
                there = [Entry(met.at, met.place, None, met) for at, met in own if at <= x]
                chains = sessions_of(there, gap).values()
                if any(left in chain and right in chain for chain in chains):
                    sent.append(Sent(x, left, right))
                    break
    return sorted(sent, key=lambda pair: pair.order)


def _alone(
    spec: JoinSpec, sides: Mapping[Side, Sequence[Timed]], pairs: Iterable[Sent]
) -> Iterable[Sent]:
    """The rows of records without a partner on time, and those that take them back."""
    first: dict[int, Progress] = defaultdict(lambda: math.inf)
    for pair in pairs:
        for met in (pair.left, pair.right):
            first[id(met)] = min(first[id(met)], pair.instant)
    for side, records in sides.items():
        for instant, met in records if spec.keeps(side) else ():
            # From then on, whatever is within reach and comes is late.
            reach = spec.reach(side)
            due = math.inf if reach is None else max(instant, met.at + reach + 1)
            paired = first[id(met)]
            if paired == math.inf or paired > due:
                left, right = (met, None) if side == "left" else (None, met)
                yield Sent(due, left, right)
                if paired < math.inf:
                    yield Sent(paired, left, right, retracts=True)


def _taken(spec: JoinSpec, late: Met) -> bool:
    kept = spec.retention.time is None or late.at >= late.before - spec.retention.time
    return spec.late.policy == "update" and kept


def _matches(spec: JoinSpec, left: Met, right: Met) -> bool:
    key = left.record.key
    if spec.equality and (key is None or key != right.record.key):
        return False
    if spec.condition is not None and not spec.condition(left.record, right.record):
        return False
    # The earlier one must lie in its own side's window, seen from the later one.
    return _within(spec, "right" if left.at >= right.at else "left", abs(left.at - right.at))


def _within(spec: JoinSpec, side: Side, distance: int) -> bool:
    window = spec.side(side).window
    if window is None:
        return spec.retention.time is None or distance <= spec.retention.time
    return distance <= window if spec.axis == "ts" else distance < window
