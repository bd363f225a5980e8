"""Four ways to compute the maximum of every sliding window over rows, a record at a time.

Plain reference implementations for experiment 1: they differ in what they keep and how often they
update, and in nothing else. All call the same aggregate for every step, as an engine with
exchangeable aggregates does.

Source: Li et al., SIGMOD 2005, sections 4 and 6 (window ids, buffering); Li et al., "No pane, no
gain", SIGMOD Record 2005 (panes).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple


class Reading(NamedTuple):
    """A record of the stream."""

    seg: int
    speed: int
    ts_us: int


Window = tuple[int, int]
"""Id of a window, and its maximum."""

_NOTHING = -1


def update(maximum: int, value: int) -> int:
    """The aggregate's step: the larger of both."""
    return value if value > maximum else maximum


def scan(readings: Iterable[Reading], range_rows: int, slide_rows: int) -> list[Window]:
    """Read all records and no more: the floor under every plan; gives no window."""
    maximum = _NOTHING
    for reading in readings:
        maximum = update(maximum, reading.speed)
    return []


def window_ids(readings: Iterable[Reading], range_rows: int, slide_rows: int) -> list[Window]:
    """Tag each record with its range of window ids; keep one partial per open window.

    N·R/S steps; no record is kept. The ids of open windows are consecutive, so that their partials
    are an array, the window that closes next first.
    """
    closed: list[Window] = []
    partials = [_NOTHING] * (range_rows // slide_rows)
    for row, reading in enumerate(readings):
        speed = reading.speed
        partials = [update(partial, speed) for partial in partials]
        if (row + 1) % slide_rows == 0:
            closed.append((row // slide_rows, partials.pop(0)))
            partials.append(_NOTHING)
    return closed


def panes(readings: Iterable[Reading], range_rows: int, slide_rows: int) -> list[Window]:
    """Update one partial per record; merge the panes of a window when it closes.

    N + (N/S)·(R/S) steps, for slides that divide the range.
    """
    closed: list[Window] = []
    held: deque[int] = deque(maxlen=range_rows // slide_rows)
    pane = _NOTHING
    for row, reading in enumerate(readings):
        pane = update(pane, reading.speed)
        if (row + 1) % slide_rows == 0:
            held.append(pane)
            pane, maximum = _NOTHING, _NOTHING
            for partial in held:
                maximum = update(maximum, partial)
            closed.append((row // slide_rows, maximum))
    return closed


def buffering(readings: Iterable[Reading], range_rows: int, slide_rows: int) -> list[Window]:
    """Keep the last R records; compute every extent anew when its window closes.

    N·R/S steps, and R records kept.
    """
    closed: list[Window] = []
    buffer: deque[Reading] = deque()
    for row, reading in enumerate(readings):
        buffer.append(reading)
        if len(buffer) > range_rows:
            buffer.popleft()
        if (row + 1) % slide_rows == 0:
            maximum = _NOTHING
            for kept in buffer:
                maximum = update(maximum, kept.speed)
            closed.append((row // slide_rows, maximum))
    return closed


Plan = Callable[[Iterable[Reading], int, int], list[Window]]

PLANS: dict[str, Plan] = {
    "scan only": scan,
    "window ids": window_ids,
    "panes": panes,
    "buffering": buffering,
}
