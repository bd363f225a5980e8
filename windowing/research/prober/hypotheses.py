"""What an engine may be: every tick, report and pick, and how it answers an experiment."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple

from windowing.research.engines.evaluation import Evaluation, evaluations
from windowing.research.engines.parameters import (
    Behaviour,
    Domain,
    Pick,
    Report,
    Tick,
    Windows,
)
from windowing.research.engines.simulation import reports
from windowing.research.prober.box import Observed, observed
from windowing.research.prober.inputs import Experiment

PERIOD_MAX = 5
"""The longest period of reports that is tried; a period of 1 has no effect."""


class Hypothesis(NamedTuple):
    """An engine without its start.

    Attributes:
        pick: which one; the largest where it has no effect.
    """

    tick: Tick
    report: Report
    pick: Pick = Pick.largest

    def __str__(self) -> str:
        return f"{self.tick}, reports {self.report}, picks the {self.pick}"


@cache
def hypotheses(domain: Domain) -> tuple[Hypothesis, ...]:
    """Return every engine that is considered; no two of them report the same of every input."""
    return tuple(
        Hypothesis(tick, report, pick)
        for tick in Tick
        if domain is Domain.time or tick is not Tick.batch_end
        for report in reports_tried()
        for pick in _picks(domain, tick, report)
    )


def _picks(domain: Domain, tick: Tick, report: Report) -> tuple[Pick, ...]:
    """Return the picks that can make a difference.

    A time window is picked by nobody. A tuple-driven tick looks at one id; only the first tick may
    look at several, which lie before the first tuple: their windows are empty, so the largest and
    the smallest look alike, and all of them are shown only if empty windows are, again and again.
    """
    if domain is Domain.time:
        return (Pick.largest,)
    if tick is not Tick.tuple:
        return tuple(Pick)
    repeats_empty = not report.non_empty and not report.content_change
    return (Pick.largest, Pick.all) if repeats_empty else (Pick.largest,)


def reports_tried() -> Iterator[Report]:
    """Yield every set of conditions that is tried."""
    yes_or_no = (False, True)
    periods = (None, *range(2, PERIOD_MAX + 1))
    for change, non_empty, close, period in product(yes_or_no, yes_or_no, yes_or_no, periods):
        yield Report(change, non_empty, close, period)


@lru_cache(maxsize=400_000)
def digest(hypothesis: Hypothesis, domain: Domain, start: int, experiment: Experiment) -> int:
    """Return a digest of `answer`, remembered across boxes."""
    return hash(answer(hypothesis, domain, start, experiment))


def answer(hypothesis: Hypothesis, domain: Domain, start: int, experiment: Experiment) -> Observed:
    """Return what an engine that is as supposed would report."""
    looked_at = _looked_at(hypothesis.tick, domain, start, experiment)
    shown = reports(hypothesis.report, hypothesis.pick, domain, looked_at)
    return observed(shown, experiment.stream)


@lru_cache(maxsize=256)
def _looked_at(
    tick: Tick, domain: Domain, start: int, experiment: Experiment
) -> tuple[Evaluation, ...]:
    """Evaluate Tick, Scope and Content, which do not depend on reports and picks."""
    windows = Windows(domain, experiment.asked.size, experiment.asked.slide, start)
    return tuple(evaluations(Behaviour(tick, Report()), windows, experiment.stream))
