"""Four ways to compute the maximum of every sliding window over rows, a record at a time.

Plain reference implementations for experiment 1: they differ in what they keep and how often they
read and update, and in nothing else. All call the same aggregate for every reading of a record and
every step, as an engine with exchangeable aggregates does.

Source: Li et al., SIGMOD 2005, sections 4 and 6 (window ids, buffering); Li et al., "No pane, no
gain", SIGMOD Record 2005 (panes).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from windowing.engine.wids import Ints


class Reading(NamedTuple):
    """A record of the stream."""

    seg: int
    speed: int
    ts_us: int


Answer = list[tuple[int, int]]
"""Of each window its id, and its maximum."""

_NOTHING = -1
_FEW = 20
"""So few partials are updated one by one at less cost than as an array."""


@dataclass(frozen=True)
class Aggregate:
    """An aggregate as an engine sees it that can run any: functions.

    Attributes:
        value: reads from a record what is aggregated.
        step: merges it into a partial result.
        step_all: merges it into each of an array of partial results, in place.
    """

    value: Callable[[Reading], int]
    step: Callable[[int, int], int]
    step_all: Callable[[Ints, int], None]


def larger(maximum: int, value: int) -> int:
    """The step of a maximum."""
    return value if value > maximum else maximum


def all_larger(maxima: Ints, value: int) -> None:
    """The step of many maxima."""
    np.maximum(maxima, value, out=maxima)


MAX_SPEED = Aggregate(attrgetter("speed"), larger, all_larger)


def scan(readings: Iterable[Reading], aggregate: Aggregate, _range: int, _slide: int) -> Answer:
    """Read all records and no more: the floor under every plan; gives no window."""
    value, step, maximum = aggregate.value, aggregate.step, _NOTHING
    for reading in readings:
        maximum = step(maximum, value(reading))
    return []


def window_ids(
    readings: Iterable[Reading], aggregate: Aggregate, range_rows: int, slide_rows: int
) -> Answer:
    """Tag each record with its range of window ids; keep one partial per open window.

    N reads and N·R/S steps; no record is kept. The ids of open windows are consecutive, so that
    their partials are an array, in which a record's range is updated at once.
    """
    value, step, step_all = aggregate.value, aggregate.step, aggregate.step_all
    closed: Answer = []
    windows = range_rows // slide_rows
    partials, ids = np.full(windows, _NOTHING), range(windows)
    for number, slide in enumerate(_slides(readings, slide_rows)):
        if windows > _FEW:
            for reading in slide:
                step_all(partials, value(reading))
        else:
            few = partials.tolist()
            for reading in slide:
                seen = value(reading)
                for wid in ids:
                    few[wid] = step(few[wid], seen)
            partials[:] = few
        closed.append((number, int(partials[0])))
        partials[:-1] = partials[1:]
        partials[-1] = _NOTHING
    return closed


def panes(
    readings: Iterable[Reading], aggregate: Aggregate, range_rows: int, slide_rows: int
) -> Answer:
    """Update one partial per record; merge the panes of a window when it closes.

    N reads and N + (N/S)·(R/S) steps, for slides that divide the range.
    """
    value, step = aggregate.value, aggregate.step
    closed: Answer = []
    held: deque[int] = deque(maxlen=range_rows // slide_rows)
    for number, slide in enumerate(_slides(readings, slide_rows)):
        pane = maximum = _NOTHING
        for reading in slide:
            pane = step(pane, value(reading))
        held.append(pane)
        for partial in held:
            maximum = step(maximum, partial)
        closed.append((number, maximum))
    return closed


def buffering(
    readings: Iterable[Reading], aggregate: Aggregate, range_rows: int, slide_rows: int
) -> Answer:
    """Keep the last R records; compute every extent anew when its window closes.

    N·R/S reads and as many steps, and R records kept.
    """
    value, step = aggregate.value, aggregate.step
    closed: Answer = []
    buffer: deque[Reading] = deque()
    for number, slide in enumerate(_slides(readings, slide_rows)):
        for reading in slide:
            buffer.append(reading)
            if len(buffer) > range_rows:
                buffer.popleft()
        maximum = _NOTHING
        for kept in buffer:
            maximum = step(maximum, value(kept))
        closed.append((number, maximum))
    return closed


def _slides(readings: Iterable[Reading], slide_rows: int) -> Iterator[list[Reading]]:
    """The records of each whole slide; what is left over ends no window."""
    left = iter(readings)
    while len(slide := list(islice(left, slide_rows))) == slide_rows:
        yield slide


Plan = Callable[[Iterable[Reading], Aggregate, int, int], Answer]

PLANS: dict[str, Plan] = {
    "scan only": scan,
    "window ids": window_ids,
    "panes": panes,
    "buffering": buffering,
}
