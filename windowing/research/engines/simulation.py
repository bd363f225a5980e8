"""What an engine looks at (Tick, Scope, Content), and what it shows of that (Report, Pick)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from windowing.research.engines.parameters import (
    Behaviour,
    Domain,
    Pick,
    Report,
    StreamTuple,
    Tick,
    Windows,
)


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


class SimulatedReport(NamedTuple):
    """One report.

    Attributes:
        instant: application time of the report, or the id that was picked.
        content: ids of the window's tuples.
        arrival: arrival of the tuple that caused it; None: the end of the input.
        low: lower bound of the interval, excluded; its upper bound is the instant.
    """

    instant: int
    content: tuple[int, ...]
    arrival: int | None
    low: int


def simulate(
    behaviour: Behaviour, windows: Windows, stream: Sequence[StreamTuple]
) -> list[SimulatedReport]:
    """Return the reports of an engine, in the order in which they appear."""
    looked_at = evaluations(behaviour, windows, stream)
    return [*reports(behaviour.report, behaviour.pick, windows.domain, looked_at)]


def reports(
    report: Report, pick: Pick, domain: Domain, looked_at: Iterable[Evaluation]
) -> Iterator[SimulatedReport]:
    """Yield what is shown of the windows that an engine looks at."""
    last: tuple[int, ...] = ()
    for evaluation in looked_at:
        if domain is Domain.tuple:
            shown = _picked(report, pick, last, evaluation.moments)
            last = shown[-1].content if shown else last
        else:
            shown = []
            for moment in evaluation.moments:
                if _holds(report, last, moment):
                    shown.append(moment)
                    last = moment.content
        arrival = None if evaluation.by is None else evaluation.by.arrival
        for moment in shown:
            yield SimulatedReport(moment.instant, moment.content, arrival, moment.low)


def _holds(report: Report, last: tuple[int, ...], moment: Moment) -> bool:
    return _content_holds(report, last, moment) and _instant_holds(report, moment)


def _content_holds(report: Report, last: tuple[int, ...], moment: Moment) -> bool:
    if report.content_change and moment.content == last:
        return False
    return bool(moment.content) or not report.non_empty


def _instant_holds(report: Report, moment: Moment) -> bool:
    return (moment.closes or not report.window_close) and _on_period(report, moment)


def _on_period(report: Report, moment: Moment) -> bool:
    return report.period is None or moment.instant % report.period == 0


def _picked(
    report: Report, pick: Pick, last: tuple[int, ...], moments: Sequence[Moment]
) -> list[Moment]:
    """Return the tuple windows that one tick shows.

    Contents are tested at the newest id even if Pick chooses an older one: so it is in the
    simulator of the sources, and a closed window can be lost by it.
    """
    if not moments or not _content_holds(report, last, moments[-1]):
        return []
    candidates = [moment for moment in moments if _instant_holds(report, moment)]
    match pick:
        case Pick.largest:
            return candidates[-1:]
        case Pick.smallest:
            return candidates[:1]
        case Pick.all:
            return candidates
