"""Tick, Scope and Content: what an engine looks at, before it decides what to report."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from windowing.research.engines.parameters import Behaviour, Domain, StreamTuple, Tick, Windows


class Wake(NamedTuple):
    """One tick.

    Attributes:
        by: the tuple that caused it; None: the end of the input.
        visible: number of tuples, from the first, that contents may hold.
        instants: application instants, or tuple ids, at which windows are evaluated.
    """

    by: StreamTuple | None
    visible: int
    instants: Sequence[int]


class Moment(NamedTuple):
    """The active window at one instant.

    Attributes:
        instant: application time or tuple id.
        low: the window's lower bound, excluded.
        content: ids of its tuples up to the instant: by time, then arrival.
        closes: whether the window ends at the instant.
    """

    instant: int
    low: int
    content: tuple[int, ...]
    closes: bool


@dataclass(frozen=True)
class Evaluation:
    """The active windows at the instants of one tick.

    Attributes:
        by: the tuple that caused the tick; None: the end of the input.
        moments: in increasing order; instants before the first window are left out.
    """

    by: StreamTuple | None
    moments: tuple[Moment, ...]


def evaluations(
    behaviour: Behaviour, windows: Windows, stream: Sequence[StreamTuple]
) -> Iterator[Evaluation]:
    """Yield what an engine looks at, tick by tick."""
    contents = _Contents(windows.domain)
    for wake in wakes(behaviour, windows, stream):
        contents.extend(stream[len(contents) : wake.visible])
        moments = tuple(_moments(wake, behaviour, windows, contents))
        yield Evaluation(wake.by, moments)


def wakes(behaviour: Behaviour, windows: Windows, stream: Sequence[StreamTuple]) -> Iterator[Wake]:
    """Yield the ticks of an engine.

    Raises:
        ValueError: the tick is not defined for this domain.
    """
    if behaviour.tick is Tick.batch_end:
        yield from _batch_ends(behaviour, windows, stream)
        return
    previous: StreamTuple | None = None
    first_of: dict[int, int] = {}  # of a time or a batch: the smallest id
    for place, by in enumerate(stream):
        group = by.time if behaviour.tick is Tick.time else by.batch
        first_of.setdefault(group, by.number)
        if not _wakes_up(behaviour.tick, by, previous, windows.start):
            continue
        last = by.number if behaviour.tick is Tick.tuple else first_of[group]
        yield Wake(by, place, _instants(windows, previous, by.time, last))
        previous = by
    if behaviour.flush and stream:
        yield _flush(windows, previous, stream)


def _wakes_up(tick: Tick, by: StreamTuple, previous: StreamTuple | None, start: int) -> bool:
    match tick:
        case Tick.time:
            return by.time > (start if previous is None else previous.time)
        case Tick.batch:
            return by.batch > (0 if previous is None else previous.batch)
        case _:
            return True


def _instants(
    windows: Windows, previous: StreamTuple | None, time: int, last: int
) -> Sequence[int]:
    """Return the instants since the previous tick, without that of the tick itself."""
    if windows.domain is Domain.tuple:
        return range(windows.start if previous is None else previous.number, last)
    since = windows.start if previous is None else previous.time
    return range(since, time) if since != time else (time,)


def _flush(windows: Windows, previous: StreamTuple | None, stream: Sequence[StreamTuple]) -> Wake:
    """Return the tick at the end of the input, as of a tuple beyond all open windows."""
    if windows.domain is Domain.tuple:
        # A partial count window is never reported, not even at the end.
        last = stream[-1].number + 1
    else:
        last = max(one.time for one in stream) + windows.size + 1
    return Wake(None, len(stream), _instants(windows, previous, last, last))


def _batch_ends(
    behaviour: Behaviour, windows: Windows, stream: Sequence[StreamTuple]
) -> Iterator[Wake]:
    """Yield a tick after each batch, with instants up to the watermark."""
    if windows.domain is not Domain.time:
        msg = f"a batch-end tick is defined for time windows only, not for {windows.domain} windows"
        raise ValueError(msg)
    since, newest = windows.start, None
    following = [after.batch for _, after in pairwise(stream)] + [None]
    for place, (by, next_batch) in enumerate(zip(stream, following, strict=True)):
        newest = by.time if newest is None else max(newest, by.time)
        if next_batch != by.batch:
            watermark = newest - behaviour.delay
            yield Wake(by, place + 1, range(since, watermark))
            since = max(since, watermark)
    if behaviour.flush and newest is not None:
        yield Wake(None, len(stream), range(since, newest + windows.size + 1))


def _moments(
    wake: Wake, behaviour: Behaviour, windows: Windows, contents: _Contents
) -> Iterator[Moment]:
    for instant in wake.instants:
        low = windows.low(instant)
        if low is None:
            continue
        closes = instant - low == windows.size
        if windows.domain is Domain.time:
            # A time can still grow while tuples with this very time arrive.
            closes &= wake.by is None or instant < wake.by.time
        elif behaviour.lower_bound_closes and windows.size == 1:
            closes |= instant == low
        yield Moment(instant, low, contents.between(low, instant), closes)


class _Contents:
    """The tuples that have arrived, ordered by their place in the windows' domain."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._keys: list[int] = []
        self._numbers: list[int] = []

    def __len__(self) -> int:
        return len(self._keys)

    def extend(self, arrived: Sequence[StreamTuple]) -> None:
        for one in arrived:
            key = one.time if self._domain is Domain.time else one.number
            place = bisect_right(self._keys, key)
            self._keys.insert(place, key)
            self._numbers.insert(place, one.number)

    def between(self, low: int, high: int) -> tuple[int, ...]:
        return tuple(self._numbers[bisect_right(self._keys, low) : bisect_right(self._keys, high)])
