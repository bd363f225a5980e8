"""Report and Pick: what an engine shows of the windows that it looks at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from windowing.research.engines.evaluation import Evaluation, Moment, evaluations
from windowing.research.engines.parameters import (
    Behaviour,
    Domain,
    Pick,
    Report,
    StreamTuple,
    Windows,
)


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
