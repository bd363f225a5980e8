"""Which hypotheses, with which starts, answer every experiment as the engine did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from windowing.research.engines.parameters import Domain
from windowing.research.prober.box import Observed, Size
from windowing.research.prober.hypotheses import Hypothesis, answer, hypotheses
from windowing.research.prober.inputs import Experiment, experiments

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
