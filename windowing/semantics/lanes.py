"""Progress: what one lane's records, in offset order, say about what is still to come.

A lane's progress is the running maximum of the bounds after its records, minus infinity at first,
plus infinity after `end`. What is decided about a record depends on the progress *before* it, which
is a fact of the log.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from windowing.semantics.log import Bound, LogEntry, read_control
from windowing.semantics.values import Reason, Record, ValueReader
from windowing.spec.disorder import Disorder

Progress = int | float
"""Microseconds, or one of the infinities. Python compares ints with them exactly."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A data record in its place in the log.

    Attributes:
        lane: `topic/partition`.
        partition, offset: its place.
        progress: the lane's progress before it.
        content: the record, or the reason why it is a dead letter for every query.
    """

    lane: str
    partition: int
    offset: int
    progress: Progress
    content: Record | Reason | Literal["after_end"]


def bound_after(disorder: Disorder, ts_us: int) -> int:
    """The bound that a record gives: none older than this comes after it in its lane."""
    return ts_us - disorder.slack_us


def follow(
    lane: str, entries: Iterable[LogEntry], reader: ValueReader, disorder: Disorder
) -> tuple[list[Arrival], Progress]:
    """Return a lane's data records, each with the progress before it, and the final progress.

    Raises:
        BadLogError: a control record that is none.
    """
    arrivals: list[Arrival] = []
    progress: Progress = -math.inf
    for entry in entries:
        ended = progress == math.inf
        if entry.control is not None:
            if not ended:
                control = read_control(entry.control, f"{lane} offset {entry.offset}")
                if control == "end":
                    progress = math.inf
                elif isinstance(control, Bound):
                    progress = max(progress, control.bound_us)
            continue
        content: Record | Reason | Literal["after_end"] = (
            "after_end" if ended else reader.read(entry.value, entry.append_us)
        )
        arrivals.append(Arrival(lane, entry.partition, entry.offset, progress, content))
        if isinstance(content, Record):
            progress = max(progress, bound_after(disorder, content.ts_us))
    return arrivals, progress
