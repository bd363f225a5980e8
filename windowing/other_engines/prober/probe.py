"""Probe a box: run the experiments, eliminate, fit the start, and ask again where models differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

from windowing.other_engines.parameters import Domain, StreamTuple
from windowing.other_engines.prober.box import Box, Observed, Size, ask
from windowing.other_engines.prober.elimination import Starts, explaining, nearest, surviving
from windowing.other_engines.prober.formulas import Formula, formulas
from windowing.other_engines.prober.hypotheses import Hypothesis, digest, hypotheses
from windowing.other_engines.prober.inputs import SIZES, Experiment, drawn, experiments

DRAWS = 60
"""Random experiments in a row on which all that is left must agree."""


class Model(NamedTuple):
    """A complete explanation of an engine.

    Attributes:
        hypothesis: tick, report, pick.
        formula: its start.
    """

    hypothesis: Hypothesis
    formula: Formula


@dataclass(frozen=True)
class Recovered:
    """What an engine may be: models with the same answers to all experiments that were tried.

    Attributes:
        models: the class of them; empty if no formula fits the starts.
        hypotheses: ticks, reports and picks of the class.
        starts: for each size of windows, the starts that are possible.
        extra: number of random experiments that were run.
    """

    models: tuple[Model, ...]
    hypotheses: tuple[Hypothesis, ...]
    starts: Mapping[Size, frozenset[int]]
    extra: int


@dataclass(frozen=True)
class Unmodelable:
    """An engine that no hypothesis explains.

    Attributes:
        why: the rule that it breaks.
        experiment: the smallest unexplained input.
        answer: what the engine reported.
        nearest: the hypothesis and start that agree after the most tuples; None: repeats differ.
    """

    why: str
    experiment: Experiment
    answer: Observed
    nearest: tuple[Hypothesis, int] | None


def probe(box: Box, domain: Domain) -> Recovered | Unmodelable:
    """Find the parameters of an engine's window operator."""
    alive: Sequence[Hypothesis] = hypotheses(domain)
    starts: dict[Size, Starts] = {}
    for asked in SIZES[domain]:
        answers = []
        for experiment in experiments(domain, asked):
            given, again = (ask(box, domain, asked, experiment.stream) for _ in range(2))
            if given != again:
                return Unmodelable("two runs of one input differ", experiment, again, None)
            answers.append(given)
        starts[asked] = surviving(domain, asked, answers)
        left = [one for one in alive if one in starts[asked]]
        if not left:
            return _unexplained(box, domain, alive, asked, answers)
        alive = left
    models = [
        Model(hypothesis, formula)
        for hypothesis in alive
        for formula in _fitting(hypothesis, starts)
    ]
    models, extra = _told_apart(box, domain, models)
    fitted = {model.hypothesis for model in models} or set(alive)
    possible = {
        asked: frozenset().union(*(found[one] for one in fitted)) for asked, found in starts.items()
    }
    explained = tuple(one for one in alive if one in fitted)
    return Recovered(tuple(models), explained, possible, extra)


def _fitting(hypothesis: Hypothesis, starts: Mapping[Size, Starts]) -> list[Formula]:
    """Return the formulas that give a possible start for every size of windows."""
    possible = [(asked, found[hypothesis]) for asked, found in starts.items()]
    return [
        formula
        for formula in formulas()
        if all(formula.start(asked) in candidates for asked, candidates in possible)
    ]


def _told_apart(box: Box, domain: Domain, models: Sequence[Model]) -> tuple[list[Model], int]:
    """Run the engine on random inputs on which the models differ; return what is left."""
    left, extra, agreed = [*models], 0, 0
    for number in count():
        if agreed == DRAWS or not left:
            break
        experiment = drawn(domain, number)
        asked = experiment.asked
        supposed = [
            digest(one.hypothesis, domain, one.formula.start(asked), experiment) for one in left
        ]
        if len(set(supposed)) == 1:
            agreed += 1
            continue
        agreed, extra = 0, extra + 1
        given = hash(ask(box, domain, asked, experiment.stream))
        left = [one for one, answer in zip(left, supposed, strict=True) if answer == given]
    return left, extra


def _unexplained(
    box: Box,
    domain: Domain,
    alive: Sequence[Hypothesis],
    asked: Size,
    answers: Sequence[Observed],
) -> Unmodelable:
    """Return the smallest input that nothing explains of what the sizes before left over."""
    inputs = experiments(domain, asked)
    for experiment, given in zip(inputs, answers, strict=True):
        if not explaining(alive, domain, experiment, given):
            smallest, answer = _shrunk(box, domain, alive, experiment, given)
            near = nearest(alive, domain, smallest, answer)
            return Unmodelable("no hypothesis explains this input", smallest, answer, near)
    why = "each input is explained by some hypothesis, but all of this size by none"
    near = nearest(alive, domain, inputs[0], answers[0])
    return Unmodelable(why, inputs[0], answers[0], near)


def _shrunk(
    box: Box,
    domain: Domain,
    alive: Sequence[Hypothesis],
    experiment: Experiment,
    given: Observed,
) -> tuple[Experiment, Observed]:
    """Drop tuples, from the last, as long as nothing explains the answer."""
    for place in reversed(range(1, len(experiment.stream))):
        kept = experiment.stream[:place] + experiment.stream[place + 1 :]
        renumbered = tuple(
            StreamTuple(number, number, one.time, one.batch) for number, one in enumerate(kept, 1)
        )
        smaller = replace(experiment, stream=renumbered)
        answer = ask(box, domain, smaller.asked, renumbered)
        if not explaining(alive, domain, smaller, answer):
            experiment, given = smaller, answer
    return experiment, given
