"""Event-time interval windows, by definition: what a watermark makes each pane show.

A pane is derived from its arrivals each time: no state passes from one watermark to the next.
Source: the published library (`spl.md` 7). Times are integers in the unit of the tuples' times.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Panes:
    """An interval window: panes [start, start + duration), where start is offset modulo period.

    Attributes:
        duration, period, offset: where panes are.
        discard_age: how far behind the watermark tuples are accepted, and panes kept.
    """

    duration: int
    period: int
    offset: int
    discard_age: int


@dataclass(frozen=True)
class Arrival:
    """A tuple arrives.

    Attributes:
        at: its own time.
    """

    at: int
    key: Hashable


@dataclass(frozen=True)
class Watermark:
    """A watermark arrives."""

    at: int


@dataclass(frozen=True)
class PaneShown:
    """One thing that a pane shows of one partition.

    Attributes:
        step: the number of the watermark among the operations.
        kind: the pane is complete, reports, or is about to be closed.
        start: the pane.
        tuples: numbers of its tuples, in order of arrival; operations are counted from 0.
        report: how many reports the pane made before.
    """

    step: int
    kind: Literal["initialFull", "trigger", "beforeClose"]
    start: int
    key: Hashable
    tuples: tuple[int, ...]
    report: int


def evaluate(window: Panes, operations: Sequence[Arrival | Watermark]) -> list[PaneShown]:
    """Return what the panes show; the order between panes and partitions is open."""
    advances = [
        (step, operation.at)
        for step, operation in enumerate(operations)
        if isinstance(operation, Watermark) and operation.at > _watermark(operations[:step])
    ]
    held: dict[int, list[int]] = {}
    for step, operation in enumerate(operations):
        if isinstance(operation, Arrival) and _accepted(window, operation, operations[:step]):
            for start in _starts(window, operation.at):
                held.setdefault(start, []).append(step)
    return [
        shown
        for start, arrivals in held.items()
        for shown in _shown_by(window, start, arrivals, operations, advances)
    ]


def _watermark(history: Sequence[Arrival | Watermark]) -> int:
    return max((one.at for one in history if isinstance(one, Watermark)), default=0)


def _accepted(window: Panes, tuple_: Arrival, history: Sequence[Arrival | Watermark]) -> bool:
    return tuple_.at >= max(_watermark(history) - window.discard_age, window.offset % window.period)


def _starts(window: Panes, at: int) -> list[int]:
    """Return the panes of a time. The library has none that begins at zero or earlier."""
    return [
        start
        for start in range(max(at - window.duration, 0) + 1, at + 1)
        if (start - window.offset) % window.period == 0
    ]


def _shown_by(
    window: Panes,
    start: int,
    arrivals: Sequence[int],
    operations: Sequence[Arrival | Watermark],
    advances: Sequence[tuple[int, int]],
) -> Iterator[PaneShown]:
    """Return what one pane shows at the watermarks that have passed its end."""
    end = start + window.duration
    looks = [(step, at) for step, at in advances if at >= end and arrivals[0] < step]
    reports, before = 0, -1
    for step, at in looks:
        parts: dict[Hashable, list[int]] = {}
        for number in arrivals:
            operation = operations[number]
            if number < step and isinstance(operation, Arrival):
                parts.setdefault(operation.key, []).append(number)
        fresh = [key for key, numbers in parts.items() if numbers[-1] > before]
        if before < 0:
            for key, numbers in parts.items():
                yield PaneShown(step, "initialFull", start, key, tuple(numbers), reports)
        for key in fresh:
            yield PaneShown(step, "trigger", start, key, tuple(parts[key]), reports)
        reports, before = reports + bool(fresh), step
        if at >= end + window.discard_age:
            for key, numbers in parts.items():
                yield PaneShown(step, "beforeClose", start, key, tuple(numbers), reports)
            return
