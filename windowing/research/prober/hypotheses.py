"""What an engine may be, with which start, and which of that answers every experiment as it did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple

from windowing.research.engines.parameters import (
    Behaviour,
    Domain,
    Pick,
    Report,
    Tick,
    Windows,
)
from windowing.research.engines.simulation import Evaluation, evaluations, reports
from windowing.research.prober.experiments import Experiment, Observed, Size, experiments, observed


class Formula(NamedTuple):
    """`a * w + c * b + g * f + d`, or `k * b + e * w + d` with k the rounded `(f + a w + c b) / b`.

    Attributes:
        rounding: `""`: the first form; `ceil` or `floor`: the second.
        a, c, d: coefficients of size and slide, and a constant.
        outer: g in the first form, e in the second.
    """

    rounding: str
    a: int
    c: int
    outer: int
    d: int

    def start(self, asked: Size) -> int:
        """Return the exclusive lower bound of the first window."""
        w, b, f = asked
        if not self.rounding:
            return self.a * w + self.c * b + self.outer * f + self.d
        within = f + self.a * w + self.c * b
        rounded = -(-within // b) if self.rounding == "ceil" else within // b
        return rounded * b + self.outer * w + self.d

    def __str__(self) -> str:
        if not self.rounding:
            return _sum((self.a, "w"), (self.c, "b"), (self.outer, "f"), (self.d, ""))
        within = _sum((1, "f"), (self.a, "w"), (self.c, "b"))
        rest = _sum((self.outer, "w"), (self.d, ""))
        head = f"{self.rounding}(({within}) / b) * b"
        return head if rest == "0" else f"{head} + {rest}".replace("+ -", "- ")


def _sum(*terms: tuple[int, str]) -> str:
    """Spell a sum of multiples, without those that are zero."""
    spelled = ""
    for factor, name in terms:
        if factor:
            size = "" if abs(factor) == 1 and name else str(abs(factor))
            sign = "-" if factor < 0 else "+"
            spelled += f" {sign} {size}{name}" if spelled else f"{'-' * (factor < 0)}{size}{name}"
    return spelled or "0"


_CONSTANTS = range(-2, 2)
_SLIDES = range(-2, 2)
_SIGNS = (0, -1, 1)


@cache
def formulas() -> tuple[Formula, ...]:
    """Return the formulas that are tried, plain ones first."""
    plain = product(("",), _SIGNS, _SLIDES, _SIGNS, _CONSTANTS)
    rounded = product(("ceil", "floor"), _SIGNS, (0,), _SIGNS, _CONSTANTS)
    shifted = product(("ceil", "floor"), _SIGNS, (-2, -1, 1), _SIGNS, _CONSTANTS)
    return tuple(Formula(*parts) for parts in (*plain, *rounded, *shifted))


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


Starts = Mapping[Hypothesis, frozenset[int]]
"""For each hypothesis, the starts with which it answers as the engine did."""


def starts_tried(asked: Size) -> range:
    """Return the starts that are tried for windows of a size."""
    return range(-(asked.size + 2 * asked.slide + 3), asked.first + asked.slide + 3)


def surviving(domain: Domain, asked: Size, answers: Sequence[Observed]) -> Starts:
    """Return what explains the answers to all experiments of one size of windows."""
    found: dict[Hypothesis, set[int]] = {}
    for hypothesis, start in _index(domain, asked).get(_together(answers), ()):
        found.setdefault(hypothesis, set()).add(start)
    return {hypothesis: frozenset(starts) for hypothesis, starts in found.items()}


def explaining(
    alive: Iterable[Hypothesis], domain: Domain, experiment: Experiment, given: Observed
) -> list[Hypothesis]:
    """Return the hypotheses that explain the answer to one experiment with some start."""
    return [
        hypothesis
        for hypothesis in alive
        if any(
            answer(hypothesis, domain, start, experiment) == given
            for start in starts_tried(experiment.asked)
        )
    ]


def nearest(
    alive: Iterable[Hypothesis], domain: Domain, experiment: Experiment, given: Observed
) -> tuple[Hypothesis, int]:
    """Return the hypothesis and start that answer as the engine did after the most tuples.

    Reports that agree count for more than silence that does.
    """
    pairs = [(one, start) for one in alive for start in starts_tried(experiment.asked)]

    def agreeing(pair: tuple[Hypothesis, int]) -> tuple[int, int]:
        supposed = answer(pair[0], domain, pair[1], experiment)
        both = [ours for ours, theirs in zip(supposed, given, strict=True) if ours == theirs]
        return sum(map(bool, both)), len(both)

    return max(pairs, key=agreeing)


@cache
def _index(domain: Domain, asked: Size) -> Mapping[int, Sequence[tuple[Hypothesis, int]]]:
    """Return hypotheses and starts by a digest of their answers to all experiments.

    Answers themselves would fill gigabytes; two with one digest would keep a wrong hypothesis, and
    never lose the right one.
    """
    index: dict[int, list[tuple[Hypothesis, int]]] = {}
    inputs = experiments(domain, asked)
    for start in starts_tried(asked):
        # Experiments in the inner loop would evaluate Tick, Scope and Content again and again.
        answers: dict[Hypothesis, list[int]] = {one: [] for one in hypotheses(domain)}
        for experiment in inputs:
            for hypothesis, digests in answers.items():
                digests.append(hash(answer(hypothesis, domain, start, experiment)))
        for hypothesis, digests in answers.items():
            index.setdefault(hash(tuple(digests)), []).append((hypothesis, start))
    return index


def _together(answers: Sequence[Observed]) -> int:
    return hash(tuple(hash(one) for one in answers))
