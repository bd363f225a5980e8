"""Probe a box: run the experiments, eliminate, fit the start, and ask again where models differ.

Of an engine that no hypothesis explains: the smallest input that shows it, and what it breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, repeat
from typing import NamedTuple

from windowing.research.engines.parameters import Domain, StreamTuple
from windowing.research.prober.experiments import (
    SIZES,
    Box,
    Experiment,
    Observed,
    Refused,
    Size,
    ask,
    ask_all,
    drawn,
    experiments,
)
from windowing.research.prober.hypotheses import (
    Formula,
    Hypothesis,
    Starts,
    digest,
    explaining,
    formulas,
    hypotheses,
    nearest,
    surviving,
)

UNSTEADY = "two runs of one input differ"


class Trial(NamedTuple):
    """An experiment that was run on an engine.

    Attributes:
        left: how many hypotheses the experiments on windows of this size left over.
    """

    experiment: Experiment
    answer: Observed
    left: int


@dataclass(frozen=True)
class Unmodelable:
    """An engine that no hypothesis explains.

    Attributes:
        experiment: the smallest unexplained input.
        nearest: the hypothesis and start that agree after the most tuples; None: repeats differ.
        trials: the planned experiments up to here, in order.
    """

    why: str
    experiment: Experiment
    answer: Observed
    nearest: tuple[Hypothesis, int] | None
    trials: tuple[Trial, ...]


def unexplained(
    box: Box, domain: Domain, alive: Sequence[Hypothesis], trials: Sequence[Trial]
) -> Unmodelable:
    """Return the smallest input that nothing explains of what the sizes before left over.

    Args:
        alive: the hypotheses that explain all sizes before the last one.
        trials: all experiments; those on the last size are explained by none together.
    """
    last = [one for one in trials if one.experiment.asked == trials[-1].experiment.asked]
    for trial in last:
        if not explaining(alive, domain, trial.experiment, trial.answer):
            smallest, answer = _shrunk(box, domain, alive, trial.experiment, trial.answer)
            near = nearest(alive, domain, smallest, answer)
            return Unmodelable(_broken_rule(answer), smallest, answer, near, tuple(trials))
    why = "each input is explained by some hypothesis, but all of this size by none"
    near = nearest(alive, domain, last[0].experiment, last[0].answer)
    return Unmodelable(why, last[0].experiment, last[0].answer, near, tuple(trials))


def _broken_rule(answer: Observed) -> str:
    reports = [(number, set(one)) for number, found in enumerate(answer, 1) for one in found]
    if any(number in content for number, content in reports):
        return "a report holds the tuple that it follows: in the model, contents end before it"
    if any(content and len(content) <= max(content) - min(content) for _, content in reports):
        return "a content is no interval of ids"
    return "no hypothesis explains this input"


def _shrunk(
    box: Box,
    domain: Domain,
    alive: Sequence[Hypothesis],
    experiment: Experiment,
    given: Observed,
) -> tuple[Experiment, Observed]:
    """Leave tuples out, from the last, as long as nothing explains the answer."""
    experiment, given = _shortest(box, domain, alive, experiment, given)
    for place in reversed(range(1, len(experiment.stream) - 1)):
        kept = experiment.stream[:place] + experiment.stream[place + 1 :]
        smaller = replace(experiment, stream=_renumbered(kept))
        answer = ask(box, domain, smaller.asked, smaller.stream)
        if not explaining(alive, domain, smaller, answer):
            experiment, given = smaller, answer
    return experiment, given


def _shortest(
    box: Box,
    domain: Domain,
    alive: Sequence[Hypothesis],
    experiment: Experiment,
    given: Observed,
) -> tuple[Experiment, Observed]:
    """Return the shortest beginning that nothing explains.

    What an engine answers to a beginning is known from its answer to the whole, unless a batch is
    cut in two: so the engine is asked only once in the end.
    """
    for length in range(1, len(experiment.stream)):
        beginning = replace(experiment, stream=experiment.stream[:length])
        if explaining(alive, domain, beginning, given[:length]):
            continue
        answer = ask(box, domain, beginning.asked, beginning.stream)
        if not explaining(alive, domain, beginning, answer):
            return beginning, answer
    return experiment, given


def _renumbered(kept: Sequence[StreamTuple]) -> tuple[StreamTuple, ...]:
    return tuple(
        StreamTuple(number, number, one.time, one.batch) for number, one in enumerate(kept, 1)
    )


DRAWS = 60
"""Random experiments in a row on which all that is left must agree."""


class Model(NamedTuple):
    """A complete explanation of an engine."""

    hypothesis: Hypothesis
    formula: Formula


@dataclass(frozen=True)
class Recovered:
    """What an engine may be: models with the same answers to all experiments that were tried.

    Attributes:
        models: the class of them; empty if no formula fits the starts.
        starts: for each size of windows, the starts that are possible.
        extra: number of random experiments that were run.
        trials: the planned experiments, in order.
        refused: sizes that the engine does not take, with its reason.
    """

    models: tuple[Model, ...]
    hypotheses: tuple[Hypothesis, ...]
    starts: Mapping[Size, frozenset[int]]
    extra: int
    trials: tuple[Trial, ...]
    refused: Mapping[Size, str]


Finding = Recovered | Unmodelable
"""The result of a probe."""


def probe(box: Box, domain: Domain, news: Callable[[str], None] = lambda _: None) -> Finding:
    """Find the parameters of an engine's window operator.

    Args:
        news: receives progress messages.

    Raises:
        Refused: the engine takes none of the windows that are asked for.
    """
    alive: Sequence[Hypothesis] = hypotheses(domain)
    starts: dict[Size, Starts] = {}
    trials: list[Trial] = []
    refused: dict[Size, str] = {}
    for asked in SIZES[domain]:
        inputs = experiments(domain, asked)
        try:
            answers, again = _asked_twice(box, domain, inputs)
        except Refused as why:
            refused[asked] = str(why)
            continue
        for experiment, first, second in zip(inputs, answers, again, strict=True):
            if first != second:
                trials += map(Trial, inputs, answers, repeat(len(alive)))
                return Unmodelable(UNSTEADY, experiment, second, None, tuple(trials))
        starts[asked] = surviving(domain, asked, answers)
        left = [one for one in alive if one in starts[asked]]
        trials += map(Trial, inputs, answers, repeat(len(left)))
        if not left:
            return unexplained(box, domain, alive, trials)
        alive = left
        news(f"{asked}: {len(alive)} hypotheses are left")
    if not starts:
        raise Refused(next(iter(refused.values())))
    models, fitted, extra = _fitted(box, domain, alive, starts)
    possible = {
        asked: frozenset().union(*(found[one] for one in fitted)) for asked, found in starts.items()
    }
    return Recovered(models, fitted, possible, extra, tuple(trials), refused)


def _fitted(
    box: Box, domain: Domain, alive: Sequence[Hypothesis], starts: Mapping[Size, Starts]
) -> tuple[tuple[Model, ...], tuple[Hypothesis, ...], int]:
    """Return the models with a formula for the start, their hypotheses, and the runs it took.

    If no formula fits, all hypotheses are left.
    """
    models = [
        Model(hypothesis, formula)
        for hypothesis in alive
        for formula in _fitting(hypothesis, starts)
    ]
    models, extra = _distinguished(box, domain, models)
    fitted = {model.hypothesis for model in models} or set(alive)
    return tuple(models), tuple(one for one in alive if one in fitted), extra


def _asked_twice(
    box: Box, domain: Domain, inputs: Sequence[Experiment]
) -> tuple[list[Observed], list[Observed]]:
    answers = ask_all(box, domain, [(one.asked, one.stream) for one in inputs] * 2)
    return answers[: len(inputs)], answers[len(inputs) :]


def _fitting(hypothesis: Hypothesis, starts: Mapping[Size, Starts]) -> list[Formula]:
    """Return the formulas that give a possible start for every size of windows."""
    possible = [(asked, found[hypothesis]) for asked, found in starts.items()]
    return [
        formula
        for formula in formulas()
        if all(formula.start(asked) in candidates for asked, candidates in possible)
    ]


def _distinguished(box: Box, domain: Domain, models: Sequence[Model]) -> tuple[list[Model], int]:
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
        try:
            given = hash(ask(box, domain, asked, experiment.stream))
        except Refused:
            agreed += 1  # nobody can see this difference
            continue
        agreed, extra = 0, extra + 1
        left = [one for one, answer in zip(left, supposed, strict=True) if answer == given]
    return left, extra
