"""The join of two streams, by definition: every left record beside every right one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from windowing.semantics.operator_log import Met, follow, release
from windowing.spec.operator import JoinSpec, SideSpec
from windowing.spec.operator_rows import Bound, Pair, Progress, Record, place_of


def pairs_of(
    spec: JoinSpec, log: Iterable[Record | Bound]
) -> tuple[list[Pair], list[Pair], list[Record]]:
    """The pairs that progress has reached, in their order; all pairs; the refused records."""
    read = follow(spec, log)
    sides: dict[str, list[tuple[int, Met]]] = {"left": [], "right": []}
    side_of = {lane.name: lane.side or "" for lane in spec.lanes}
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
    if spec.axis == "rows":
        progress = min(len(own) for own in sides.values())
    matching = [
        ((max(one, other), left.place, right.place), Pair(left.record, right.record))
        for one, left in sides["left"]
        for other, right in sides["right"]
        if _matches(spec, left, right)
    ]
    matching.sort(key=lambda pair: pair[0])
    reached = [pair for (instant, *_), pair in matching if instant <= progress]
    return reached, [pair for _, pair in matching], refused


def _taken(spec: JoinSpec, late: Met) -> bool:
    kept = spec.retention.time is None or late.at >= late.before - spec.retention.time
    return spec.late.policy == "update" and kept


def _matches(spec: JoinSpec, left: Met, right: Met) -> bool:
    key = left.record.key
    if spec.equality and (key is None or key != right.record.key):
        return False
    distance = abs(left.at - right.at)
    # The earlier one must lie in its own side's window, seen from the later one.
    return _within(spec, spec.right if left.at >= right.at else spec.left, distance)


def _within(spec: JoinSpec, side: SideSpec, distance: int) -> bool:
    if side.window is None:
        return spec.retention.time is None or distance <= spec.retention.time
    return distance <= side.window if spec.axis == "ts" else distance < side.window
